"""Nobody can make us fill somebody's mailbox: mail is limited by address and by who asks."""

import secrets
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.core import mail

from tests.accounts.conftest import PASSWORD, sign_in

pytestmark = pytest.mark.django_db

RESETS_PER_HOUR = 3


def ask_for_reset(client, email):
    return client.post("/accounts/password/reset/", {"email": email})


def sign_up(client, email):
    fields = {"email": email, "password1": PASSWORD, "display_name": "Ana Sol", "handle": ""}
    return client.post("/accounts/signup/", fields)


def an_address() -> str:
    return f"{secrets.token_hex(6)}@example.org"


def mails_to(email) -> int:
    return sum(email in message.to for message in mail.outbox)


def test_one_address_gets_few_reset_mails_an_hour_whoever_asks(make_client, mara):
    answers = [ask_for_reset(make_client(), mara.email) for _ in range(10)]
    assert mails_to(mara.email) == RESETS_PER_HOUR
    assert {answer.status_code for answer in answers} <= {302, 429}


def test_an_unknown_address_is_answered_the_same_all_the_way(make_client, mara):
    known = [ask_for_reset(make_client(), mara.email).status_code for _ in range(6)]
    unknown = [ask_for_reset(make_client(), an) for an in [an_address()] for _ in range(6)]
    assert known == [answer.status_code for answer in unknown]


def test_the_page_at_the_limit_says_what_to_do(make_client, mara):
    for _ in range(RESETS_PER_HOUR):
        ask_for_reset(make_client(), mara.email)
    answer = ask_for_reset(make_client(), mara.email)
    assert "Links we&#x27;ve already sent still work." in answer.content.decode()


@pytest.mark.parametrize("has_account", [True, False])
def test_one_address_gets_few_reset_mails_a_day(make_client, mara, has_account):
    email = mara.email if has_account else an_address()
    with time_machine.travel(datetime.now(UTC), tick=True) as clock:
        for _ in range(12):
            ask_for_reset(make_client(), email)
            clock.shift(timedelta(hours=1))
    assert mails_to(email) == 5


def test_spelling_does_not_give_another_allowance(make_client, mara):
    name, _, host = mara.email.partition("@")
    for spelling in (mara.email, name.upper() + "@" + host, f" {mara.email} ", mara.email.title()):
        for _ in range(3):
            ask_for_reset(make_client(), spelling)
    assert len(mail.outbox) == RESETS_PER_HOUR


def test_one_client_asks_for_few_addresses(client):
    for _ in range(30):
        ask_for_reset(client, an_address())
    assert len(mail.outbox) == 10
    assert ask_for_reset(client, an_address()).status_code == 429


def test_signing_up_again_with_a_known_address_mails_its_owner_rarely(make_client, mara):
    with time_machine.travel(datetime.now(UTC), tick=True) as clock:
        for _ in range(8):
            sign_up(make_client(), mara.email)
            clock.shift(timedelta(minutes=4))
    assert mails_to(mara.email) == RESETS_PER_HOUR


def test_a_confirmation_is_sent_again_only_a_few_times(make_client):
    """Signing in without having confirmed sends the link once more."""
    email = an_address()
    sign_up(make_client(), email)
    with time_machine.travel(datetime.now(UTC), tick=True) as clock:
        for _ in range(8):
            clock.shift(timedelta(minutes=4))
            make_client().post("/accounts/login/", {"login": email, "password": PASSWORD})
    assert mails_to(email) == RESETS_PER_HOUR


def test_one_client_signs_up_few_accounts(client):
    with time_machine.travel(datetime.now(UTC), tick=True) as clock:
        for _ in range(75):
            sign_up(client, an_address())
            clock.shift(timedelta(seconds=10))
    assert len(mail.outbox) == 60


def test_one_person_has_few_addresses_mailed(client, mara):
    sign_in(client, mara)
    asked = client.post("/accounts/email/", {"action_add": "", "email": an_address()})
    client.post(asked.url, {"password": PASSWORD}, follow=True)
    with time_machine.travel(datetime.now(UTC), tick=True) as clock:
        for _ in range(14):
            client.post("/accounts/email/", {"action_add": "", "email": an_address()})
            clock.shift(timedelta(seconds=15))
    assert len(mail.outbox) <= 10
