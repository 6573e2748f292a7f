import pytest
import time_machine
from axes.models import AccessAttempt
from django.test import RequestFactory

from accounts.sign_in.lockout import account_name, client_address
from tests.accounts.conftest import PASSWORD, is_signed_in, sign_in

pytestmark = pytest.mark.django_db
LIMIT = 5


def fail(client, person, times=LIMIT):
    return [sign_in(client, person, "a wrong password") for _ in range(times)]


def test_the_email_of_a_sign_in_is_case_insensitive(client, mara):
    typed = {"login": mara.email.upper(), "password": PASSWORD}
    assert client.post("/accounts/login/", typed).url == "/inbox/"
    assert is_signed_in(client)


def test_a_sign_in_rotates_the_session_key(client, mara):
    session = client.session
    session["visited"] = True
    session.save()
    client.cookies["sessionid"] = session.session_key
    sign_in(client, mara)
    assert is_signed_in(client)
    assert client.cookies["sessionid"].value != session.session_key


def test_a_sign_in_does_not_redirect_to_another_site(client, mara):
    typed = {"login": mara.email, "password": PASSWORD, "next": "https://evil.example/"}
    assert client.post("/accounts/login/", typed).url == "/inbox/"


def test_a_wrong_password_and_an_unknown_address_get_the_same_answer(client, mara):
    known = sign_in(client, mara, "a wrong password")
    mara.email = "nobody@example.org"
    unknown = sign_in(client, mara, "a wrong password")
    errors = [answer.context["form"].non_field_errors() for answer in (known, unknown)]
    assert errors[0] == errors[1] == ["Wrong email address or password."]


def test_too_many_wrong_passwords_lock_the_account_for_this_address(client, mara):
    *earlier, last = fail(client, mara)
    assert [response.status_code for response in earlier] == [200] * (LIMIT - 1)
    assert last.status_code == 429
    assert "Try again in 15 minutes" in last.content.decode()
    assert 890 <= int(last["Retry-After"]) <= 900
    assert sign_in(client, mara).status_code == 429
    assert not is_signed_in(client)


def test_the_lockout_does_not_affect_other_addresses(client, make_client, mara):
    fail(client, mara, LIMIT + 5)
    at_home = make_client()
    assert sign_in(at_home, mara).url == "/inbox/"
    assert is_signed_in(at_home)


def test_the_lockout_does_not_affect_other_accounts(client, mara, tomas):
    fail(client, mara, LIMIT + 5)
    assert sign_in(client, tomas).url == "/inbox/"


def test_wrong_passwords_from_many_addresses_lock_no_account(make_client, mara):
    for _ in range(LIMIT + 5):
        fail(make_client(), mara, 2)
    assert sign_in(make_client(), mara).url == "/inbox/"


def test_another_spelling_or_browser_does_not_bypass_the_lockout(client, mara):
    for number in range(LIMIT):
        typed = {"login": mara.email.upper() if number % 2 else mara.email, "password": "wrong"}
        response = client.post("/accounts/login/", typed, HTTP_USER_AGENT=f"Browser {number}")
    assert response.status_code == 429


@pytest.mark.parametrize("field", ["email", "username"])
def test_every_form_field_for_an_address_counts_for_the_same_account(field):
    assert account_name(None, {field: "Mara@Example.org"}) == "mara@example.org"


def test_an_account_that_does_not_exist_is_locked_too(client, mara):
    mara.email = "nobody@example.org"
    assert fail(client, mara)[-1].status_code == 429


def test_the_lockout_expires_and_is_not_extended_by_further_attempts(client, mara):
    with time_machine.travel("2026-11-16 12:00:00Z", tick=False) as clock:
        fail(client, mara)
        clock.shift(14 * 60)
        response = sign_in(client, mara)
        assert (response.status_code, response["Retry-After"]) == (429, "60")
        assert "Try again in 1 minute." in response.content.decode()
        clock.shift(61)
        assert sign_in(client, mara).url == "/inbox/"


def test_the_right_password_resets_the_failure_count(client, mara):
    for _ in range(3):
        fail(client, mara, LIMIT - 1)
        assert sign_in(client, mara).url == "/inbox/"
        client.post("/accounts/logout/")


def test_the_entered_password_is_not_stored(client, mara):
    fail(client, mara, 1)
    attempt = AccessAttempt.objects.get(username=mara.email)
    assert "a wrong password" not in attempt.post_data
    assert mara.email not in attempt.post_data


def test_the_proxy_header_is_used_only_behind_a_proxy(client, mara, settings):
    def fail_from(address):
        typed = {"login": mara.email, "password": "wrong"}
        return client.post("/accounts/login/", typed, HTTP_X_FORWARDED_FOR=f"1.1.1.1, {address}")

    assert [fail_from(f"192.0.2.{n}") for n in range(LIMIT)][-1].status_code == 429
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = 1
    assert fail_from("192.0.2.99").status_code == 200


@pytest.mark.parametrize(
    ("given", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("", None),
    ],
)
def test_clients_are_counted_by_ipv4_address_or_ipv6_network(given, counted):
    assert client_address(RequestFactory().get("/", REMOTE_ADDR=given)) == counted


def test_a_suspended_user_can_neither_sign_in_nor_stay_signed_in(client, make_client, mara):
    sign_in(client, mara)
    mara.is_active = False
    mara.save()
    assert not is_signed_in(client)
    assert sign_in(make_client(), mara).url == "/accounts/inactive/"


def test_signing_out_needs_a_post(client, mara):
    sign_in(client, mara)
    client.get("/accounts/logout/")
    assert is_signed_in(client)
    client.post("/accounts/logout/")
    assert not is_signed_in(client)


def test_a_private_page_redirects_to_sign_in_and_back(client):
    assert client.get("/settings/").url == "/accounts/login/?next=/settings/"
