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


def test_signs_in_by_email_whatever_its_case(client, mara):
    typed = {"login": mara.email.upper(), "password": PASSWORD}
    assert client.post("/accounts/login/", typed).url == "/inbox/"
    assert is_signed_in(client)


def test_signing_in_gives_the_session_a_new_key(client, mara):
    session = client.session
    session["visited"] = True
    session.save()
    client.cookies["sessionid"] = session.session_key
    sign_in(client, mara)
    assert is_signed_in(client)
    assert client.cookies["sessionid"].value != session.session_key


def test_after_sign_in_one_is_taken_to_no_other_site(client, mara):
    typed = {"login": mara.email, "password": PASSWORD, "next": "https://evil.example/"}
    assert client.post("/accounts/login/", typed).url == "/inbox/"


def test_a_wrong_password_and_an_unknown_address_get_the_same_answer(client, mara):
    known = sign_in(client, mara, "a wrong password")
    mara.email = "nobody@example.org"
    unknown = sign_in(client, mara, "a wrong password")
    errors = [answer.context["form"].non_field_errors() for answer in (known, unknown)]
    assert errors[0] == errors[1] == ["This address and password do not go together."]


def test_too_many_wrong_passwords_close_the_account_to_this_address(client, mara):
    *earlier, last = fail(client, mara)
    assert [answer.status_code for answer in earlier] == [200] * (LIMIT - 1)
    assert last.status_code == 429
    assert "Try again in 15 minutes" in last.content.decode()
    assert 890 <= int(last["Retry-After"]) <= 900
    assert sign_in(client, mara).status_code == 429
    assert not is_signed_in(client)


def test_and_to_no_other_address(client, make_client, mara):
    fail(client, mara, LIMIT + 5)
    at_home = make_client()
    assert sign_in(at_home, mara).url == "/inbox/"
    assert is_signed_in(at_home)


def test_nor_does_it_close_other_accounts_to_this_address(client, mara, tomas):
    fail(client, mara, LIMIT + 5)
    assert sign_in(client, tomas).url == "/inbox/"


def test_many_addresses_together_lock_nobody_out(make_client, mara):
    for _ in range(LIMIT + 5):
        fail(make_client(), mara, 2)
    assert sign_in(make_client(), mara).url == "/inbox/"


def test_another_case_or_another_browser_is_no_way_round_the_lock(client, mara):
    for number in range(LIMIT):
        typed = {"login": mara.email.upper() if number % 2 else mara.email, "password": "wrong"}
        answer = client.post("/accounts/login/", typed, HTTP_USER_AGENT=f"Browser {number}")
    assert answer.status_code == 429


@pytest.mark.parametrize("field", ["email", "username"])
def test_every_way_to_give_an_address_counts_as_the_same_account(field):
    assert account_name(None, {field: "Mara@Example.org"}) == "mara@example.org"


def test_an_account_that_does_not_exist_is_locked_as_well(client, mara):
    mara.email = "nobody@example.org"
    assert fail(client, mara)[-1].status_code == 429


def test_the_lock_opens_by_itself_and_tries_in_between_do_not_lengthen_it(client, mara):
    with time_machine.travel("2026-11-16 12:00:00Z", tick=False) as clock:
        fail(client, mara)
        clock.shift(14 * 60)
        answer = sign_in(client, mara)
        assert (answer.status_code, answer["Retry-After"]) == (429, "60")
        assert "Try again in 1 minute." in answer.content.decode()
        clock.shift(61)
        assert sign_in(client, mara).url == "/inbox/"


def test_the_right_password_forgets_the_wrong_ones(client, mara):
    for _ in range(3):
        fail(client, mara, LIMIT - 1)
        assert sign_in(client, mara).url == "/inbox/"
        client.post("/accounts/logout/")


def test_what_was_typed_is_not_kept(client, mara):
    fail(client, mara, 1)
    attempt = AccessAttempt.objects.get(username=mara.email)
    assert "a wrong password" not in attempt.post_data
    assert mara.email not in attempt.post_data


def test_the_header_of_a_proxy_counts_only_behind_one(client, mara, settings):
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
def test_an_address_is_a_line_not_one_of_its_many_numbers(given, counted):
    assert client_address(RequestFactory().get("/", REMOTE_ADDR=given)) == counted


def test_a_suspended_person_cannot_sign_in_nor_stay(client, make_client, mara):
    sign_in(client, mara)
    mara.is_active = False
    mara.save()
    assert not is_signed_in(client)
    assert sign_in(make_client(), mara).url == "/accounts/inactive/"


def test_leaving_takes_a_post(client, mara):
    sign_in(client, mara)
    client.get("/accounts/logout/")
    assert is_signed_in(client)
    client.post("/accounts/logout/")
    assert not is_signed_in(client)


def test_a_page_of_ones_own_asks_to_sign_in_and_leads_back(client):
    assert client.get("/settings/").url == "/accounts/login/?next=/settings/"
