"""Staff sign in with a second factor; attempts to guess codes are limited."""

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
def test_staff_without_a_second_factor_set_one_up_before_access():
    moderator = make_staff("Mo", "Trust and safety")
    client = enter(moderator)
    assert client.get("/admin/moderation/case/").status_code == 302
    set_up(client)
    assert client.get("/admin/moderation/case/").status_code == 200


def test_the_next_sign_in_requires_both_factors(moderator):
    secret = set_up(enter(moderator))
    again = enter(moderator)
    assert again.get("/admin/").status_code == 302
    assert again.get("/inbox/").status_code == 302
    for wrong in ("000000", ""):
        again.post(reverse("mfa_authenticate"), {"code": wrong})
        assert again.get("/inbox/").status_code == 302
    again.post(reverse("mfa_authenticate"), {"code": code_for(secret)})
    assert again.get("/admin/").status_code == 200


def test_attempts_to_guess_codes_are_limited(moderator):
    secret = set_up(enter(moderator))
    again = enter(moderator)
    for guess in range(6):
        again.post(reverse("mfa_authenticate"), {"code": f"00000{guess}"})
    again.post(reverse("mfa_authenticate"), {"code": code_for(secret)})
    assert again.get("/admin/").status_code == 302


def test_an_older_session_does_not_gain_access(moderator):
    older, newer = enter(moderator), enter(moderator)
    set_up(newer)
    assert older.get("/admin/").status_code == 302
    page = older.get("/admin/", follow=True)
    assert page.request["PATH_INFO"] == reverse("mfa_reauthenticate")


def test_superusers_need_a_second_factor_too():
    superuser = make_staff("Root")
    User.objects.filter(pk=superuser.pk).update(is_superuser=True)
    assert sign_in(superuser, second_factor=False).get("/admin/").status_code == 302


def test_a_second_factor_gives_other_users_no_access(buyer):
    client = enter(buyer)
    assert client.get(reverse("mfa_index")).status_code == 200
    assert client.get("/admin/", follow=True).status_code == 403
