import pytest

pytestmark = pytest.mark.django_db


def choose(client, theme, **fields):
    return client.post("/settings/theme/", {"theme": theme, **fields})


@pytest.mark.parametrize("theme", ["light", "dark", "system"])
def test_remembers_the_choice_for_a_year(client, theme):
    answer = choose(client, theme, next="/accounts/login/")
    cookie = answer.cookies["theme"]
    assert (answer.status_code, answer.url) == (302, "/accounts/login/")
    assert (cookie.value, cookie["max-age"], cookie["samesite"]) == (theme, 31536000, "Lax")


@pytest.mark.parametrize("theme", ["", "blue", "dark; path=/x", "dark\r\nSet-Cookie: a=b"])
def test_refuses_what_is_no_theme(client, theme):
    answer = choose(client, theme)
    assert answer.status_code == 400
    assert "theme" not in answer.cookies


def test_leads_back_to_where_one_was(client):
    answer = client.post("/settings/theme/", {"theme": "dark"}, HTTP_REFERER="http://testserver/x/")
    assert answer.url == "http://testserver/x/"


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
def test_leads_to_no_other_site(client, elsewhere):
    assert choose(client, "dark", next=elsewhere).url == "/inbox/"


def test_a_link_cannot_choose(client):
    assert client.get("/settings/theme/").status_code == 405
