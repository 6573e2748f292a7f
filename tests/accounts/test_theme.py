import pytest

pytestmark = pytest.mark.django_db


def choose(client, theme, **fields):
    return client.post("/settings/theme/", {"theme": theme, **fields})


@pytest.mark.parametrize("theme", ["light", "dark", "system"])
def test_the_chosen_theme_is_stored_for_a_year(client, theme):
    response = choose(client, theme, next="/accounts/login/")
    cookie = response.cookies["theme"]
    assert (response.status_code, response.url) == (302, "/accounts/login/")
    assert (cookie.value, cookie["max-age"], cookie["samesite"]) == (theme, 31536000, "Lax")


@pytest.mark.parametrize("theme", ["", "blue", "dark; path=/x", "dark\r\nSet-Cookie: a=b"])
def test_an_unknown_theme_is_refused(client, theme):
    response = choose(client, theme)
    assert response.status_code == 400
    assert "theme" not in response.cookies


def test_choosing_a_theme_redirects_to_the_previous_page(client):
    response = client.post(
        "/settings/theme/", {"theme": "dark"}, HTTP_REFERER="http://testserver/x/"
    )
    assert response.url == "http://testserver/x/"


@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example/",
        "javascript:alert(1)",
        "http:///evil.example",
        "",
    ],
)
def test_choosing_a_theme_does_not_redirect_to_another_site(client, elsewhere):
    assert choose(client, "dark", next=elsewhere).url == "/inbox/"


def test_choosing_a_theme_needs_a_post(client):
    assert client.get("/settings/theme/").status_code == 405
