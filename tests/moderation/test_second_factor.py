"""Staff sign in with a second factor; codes cannot be guessed by trying."""

import re
import time

import pytest
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.test import Client
from django.urls import reverse

from accounts.models import User
from tests.moderation.conftest import make_staff, sign_in

pytestmark = pytest.mark.django_db

PASSWORD = "a long password"


def code_for(secret: str) -> str:
    return format_hotp_value(hotp_value(secret, int(time.time()) // 30))


def enter(staff: User) -> Client:
    client = Client(REMOTE_ADDR=f"10.{staff.date_joined.microsecond % 250}.7.1")
    client.post("/accounts/login/", {"login": staff.email, "password": PASSWORD})
    return client


def set_up(client: Client) -> str:
    page = client.get("/admin/", follow=True)
    if page.request["PATH_INFO"] == reverse("account_reauthenticate"):
        page = client.post(page.redirect_chain[-1][0], {"password": PASSWORD}, follow=True)
    assert page.request["PATH_INFO"] == reverse("mfa_activate_totp")
    secret = re.search(r"<code data-secret>(\w+)</code>", page.content.decode())[1]
    client.post(reverse("mfa_activate_totp"), {"code": code_for(secret)})
    return secret


@pytest.mark.django_db(transaction=True)
def test_who_has_none_is_led_to_set_one_up_and_then_let_in():
    moderator = make_staff("Mo", "Trust and safety")
    client = enter(moderator)
    assert client.get("/admin/moderation/case/").status_code == 302
    set_up(client)
    assert client.get("/admin/moderation/case/").status_code == 200


def test_the_next_sign_in_takes_both(moderator):
    secret = set_up(enter(moderator))
    again = enter(moderator)
    assert again.get("/admin/").status_code == 302
    assert again.get("/inbox/").status_code == 302
    for wrong in ("000000", ""):
        again.post(reverse("mfa_authenticate"), {"code": wrong})
        assert again.get("/inbox/").status_code == 302
    again.post(reverse("mfa_authenticate"), {"code": code_for(secret)})
    assert again.get("/admin/").status_code == 200


def test_codes_are_not_guessed_by_trying(moderator):
    secret = set_up(enter(moderator))
    again = enter(moderator)
    for guess in range(6):
        again.post(reverse("mfa_authenticate"), {"code": f"00000{guess}"})
    again.post(reverse("mfa_authenticate"), {"code": code_for(secret)})
    assert again.get("/admin/").status_code == 302


def test_an_older_session_does_not_gain_by_it(moderator):
    older, newer = enter(moderator), enter(moderator)
    set_up(newer)
    assert older.get("/admin/").status_code == 302
    page = older.get("/admin/", follow=True)
    assert page.request["PATH_INFO"] == reverse("mfa_reauthenticate")


def test_superusers_are_no_exception():
    boss = make_staff("Root")
    User.objects.filter(pk=boss.pk).update(is_superuser=True)
    assert sign_in(boss, second_factor=False).get("/admin/").status_code == 302


def test_a_person_of_no_staff_may_have_one_and_gets_no_further(buyer):
    client = enter(buyer)
    assert client.get(reverse("mfa_index")).status_code == 200
    assert client.get("/admin/", follow=True).status_code == 403
