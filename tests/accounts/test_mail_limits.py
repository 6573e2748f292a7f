"""Mail to an address is limited by recipient and by client."""

import secrets
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.core import mail

from tests.accounts.conftest import PASSWORD, sign_in

pytestmark = pytest.mark.django_db

RESETS_PER_HOUR = 3


def request_reset(client, email):
    return client.post("/accounts/password/reset/", {"email": email})


def sign_up(client, email):
    fields = {"email": email, "password1": PASSWORD, "display_name": "Ana Sol", "handle": ""}
    return client.post("/accounts/signup/", fields)


def random_address() -> str:
    return f"{secrets.token_hex(6)}@example.org"


def mails_to(email) -> int:
    return sum(email in message.to for message in mail.outbox)


def test_reset_mails_per_address_and_hour_are_limited_for_all_clients(make_client, mara):
    responses = [request_reset(make_client(), mara.email) for _ in range(10)]
    assert mails_to(mara.email) == RESETS_PER_HOUR
    assert {response.status_code for response in responses} <= {302, 429}


def test_an_unknown_address_gets_the_same_responses(make_client, mara):
    known = [request_reset(make_client(), mara.email).status_code for _ in range(6)]
    unknown = [
        request_reset(make_client(), address) for address in [random_address()] for _ in range(6)
    ]
    assert known == [response.status_code for response in unknown]


def test_the_page_at_the_limit_shows_what_to_do(make_client, mara):
    for _ in range(RESETS_PER_HOUR):
        request_reset(make_client(), mara.email)
    response = request_reset(make_client(), mara.email)
    assert "Links we&#x27;ve already sent still work." in response.content.decode()


@pytest.mark.parametrize("has_account", [True, False])
def test_reset_mails_per_address_and_day_are_limited(make_client, mara, has_account):
    email = mara.email if has_account else random_address()
    with time_machine.travel(datetime.now(UTC), tick=True) as clock:
        for _ in range(12):
            request_reset(make_client(), email)
            clock.shift(timedelta(hours=1))
    assert mails_to(email) == 5


def test_another_spelling_of_an_address_shares_its_limit(make_client, mara):
    name, _, host = mara.email.partition("@")
    for spelling in (mara.email, name.upper() + "@" + host, f" {mara.email} ", mara.email.title()):
        for _ in range(3):
            request_reset(make_client(), spelling)
    assert len(mail.outbox) == RESETS_PER_HOUR


def test_the_addresses_per_client_are_limited(client):
    for _ in range(30):
        request_reset(client, random_address())
    assert len(mail.outbox) == 10
    assert request_reset(client, random_address()).status_code == 429


def test_repeated_sign_ups_with_a_known_address_send_few_mails(make_client, mara):
    with time_machine.travel(datetime.now(UTC), tick=True) as clock:
        for _ in range(8):
            sign_up(make_client(), mara.email)
            clock.shift(timedelta(minutes=4))
    assert mails_to(mara.email) == RESETS_PER_HOUR


def test_repeated_confirmation_mails_are_limited(make_client):
    """Signing in with an unconfirmed address sends the link again."""
    email = random_address()
    sign_up(make_client(), email)
    with time_machine.travel(datetime.now(UTC), tick=True) as clock:
        for _ in range(8):
            clock.shift(timedelta(minutes=4))
            make_client().post("/accounts/login/", {"login": email, "password": PASSWORD})
    assert mails_to(email) == RESETS_PER_HOUR


def test_sign_ups_per_client_are_limited(client):
    with time_machine.travel(datetime.now(UTC), tick=True) as clock:
        for _ in range(75):
            sign_up(client, random_address())
            clock.shift(timedelta(seconds=10))
    assert len(mail.outbox) == 60


def test_address_changes_per_user_are_limited(client, mara):
    sign_in(client, mara)
    response = client.post("/accounts/email/", {"action_add": "", "email": random_address()})
    client.post(response.url, {"password": PASSWORD}, follow=True)
    with time_machine.travel(datetime.now(UTC), tick=True) as clock:
        for _ in range(14):
            client.post("/accounts/email/", {"action_add": "", "email": random_address()})
            clock.shift(timedelta(seconds=15))
    assert len(mail.outbox) <= 10
