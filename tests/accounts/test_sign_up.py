import re
import secrets

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.core.management import call_command
from django.db import IntegrityError, transaction

from accounts.forms import SignUpForm
from accounts.models import User
from core.ids import is_id
from core.outbox.models import OutboxEntry
from tests.accounts.conftest import PASSWORD, is_signed_in, link_in, sign_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def zoe():
    """Not yet anybody: an address that nobody has used."""
    return f"zoe-{secrets.token_hex(4)}@example.org"


def sign_up(client, email, **fields):
    typed = {
        "email": email,
        "display_name": "Zoë Müller",
        "handle": "",
        "city": "Köln",
        "time_zone": "Europe/Berlin",
        "password1": PASSWORD,
    }
    return client.post("/accounts/signup/", typed | fields)


def page_after(client, email):
    page = client.get("/accounts/confirm-email/").content.decode().replace(email, "EMAIL")
    return re.sub(r'(nonce|csrfmiddlewaretoken" value)="[^"]*"', "", page)


def test_a_newcomer_signs_up_and_gets_in_by_the_link_in_the_mail(client, zoe):
    answer = sign_up(client, zoe)
    assert answer.url == "/accounts/confirm-email/"
    assert not is_signed_in(client)

    link = link_in(mail.outbox[0])
    assert zoe in client.get(link).content.decode()
    client.post(link)

    assert is_signed_in(client)
    person = User.objects.get(email=zoe)
    assert is_id("usr", person.id)
    assert (person.display_name, person.handle) == ("Zoë Müller", "zoe-muller")
    assert (person.city, person.time_zone) == ("Köln", "Europe/Berlin")


def test_looking_at_the_link_confirms_nothing(client, make_client, zoe):
    sign_up(client, zoe)
    make_client().get(link_in(mail.outbox[0]))  # As a scanner of mail does.
    assert not EmailAddress.objects.get(email=zoe).verified


def test_the_link_works_in_another_browser_but_signs_nobody_in_there(client, make_client, zoe):
    sign_up(client, zoe)
    elsewhere = make_client()
    assert elsewhere.post(link_in(mail.outbox[0])).url == "/accounts/login/"
    assert not is_signed_in(elsewhere)
    assert sign_in(elsewhere, User.objects.get(email=zoe)).url == "/inbox/"


def test_without_the_link_the_right_password_does_not_sign_in(client, make_client, zoe):
    sign_up(client, zoe)
    elsewhere = make_client()
    answer = sign_in(elsewhere, User.objects.get(email=zoe))
    assert answer.url == "/accounts/confirm-email/"
    assert not is_signed_in(elsewhere)


def test_a_sign_up_with_a_known_address_looks_like_any_other(client, make_client, mara, zoe):
    other = make_client()
    new, known = sign_up(client, zoe), sign_up(other, mara.email.upper())

    assert (new.status_code, new.url) == (known.status_code, known.url)
    assert page_after(client, zoe) == page_after(other, mara.email)
    assert len(mail.outbox) == 2
    assert mail.outbox[1].to == [mara.email]
    assert "already has an account" in mail.outbox[1].body
    assert User.objects.filter(email=mara.email).count() == 1


def test_a_sign_up_with_a_known_address_takes_as_long_as_any_other(client, mara, monkeypatch):
    hashed = []
    monkeypatch.setattr("accounts.forms.make_password", hashed.append)
    sign_up(client, mara.email)
    assert hashed == [PASSWORD]


@pytest.mark.storage
def test_the_person_and_the_word_to_the_table_are_stored_together(client, zoe):
    sign_up(client, zoe)
    entry = OutboxEntry.objects.get(payload={"user": User.objects.get(email=zoe).id})
    assert (entry.kind, entry.done_at) == ("profile", None)


@pytest.mark.storage
def test_a_sign_up_that_fails_half_way_leaves_nothing(client, monkeypatch, zoe):
    def fail(user):
        raise RuntimeError("the disk is full")

    monkeypatch.setattr("accounts.forms.add_profile_entry", fail)
    with pytest.raises(RuntimeError):
        sign_up(client, zoe)
    assert not User.objects.filter(email=zoe).exists()
    assert not EmailAddress.objects.filter(email=zoe).exists()


def test_a_handle_that_is_taken_is_refused_and_a_suggested_one_is_not(client, make_person, zoe):
    make_person(handle="zoe-muller")
    answer = sign_up(client, zoe, handle="@Zoe-Muller")
    assert answer.context["form"].errors["handle"] == ["This handle is taken."]
    sign_up(client, zoe)
    assert User.objects.get(email=zoe).handle == "zoe-muller-2"


@pytest.mark.storage
def test_who_loses_the_race_for_a_handle_is_asked_to_try_again(
    client, make_person, monkeypatch, zoe
):
    checked = SignUpForm.clean_handle

    def lose(form):
        handle = checked(form)
        make_person(handle=handle)
        return handle

    monkeypatch.setattr(SignUpForm, "clean_handle", lose)
    assert sign_up(client, zoe, handle="zoe").status_code == 503
    assert not User.objects.filter(email=zoe).exists()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("email", "not an address"),
        ("display_name", ""),
        ("display_name", "   "),
        ("display_name", "Zoë\u202e"),
        ("display_name", "Zoë\nMüller"),
        ("display_name", "\u200b\u200b"),
        ("display_name", "z" * 61),
        ("handle", "admin"),
        ("handle", "ab"),
        ("city", "Köln\x07"),
        ("time_zone", "Europe/Atlantis"),
        ("time_zone", "../../etc/passwd"),
        ("password1", "short"),
        ("password1", "password123"),
        ("password1", "zoe@example"),
    ],
)
def test_refuses(client, zoe, field, value):
    answer = sign_up(client, **{"email": zoe, field: value})
    assert field in answer.context["form"].errors
    assert not User.objects.filter(display_name__startswith="Zoë").exists()


def test_without_a_time_zone_it_is_utc(client, zoe):
    sign_up(client, zoe, time_zone="")
    assert User.objects.get(email=zoe).time_zone == "UTC"


@pytest.mark.storage
def test_an_address_has_one_account_however_it_is_written(mara):
    with pytest.raises(IntegrityError), transaction.atomic():
        User.objects.create(email=mara.email.upper(), handle="other", display_name="Other")


def test_too_many_sign_ups_from_one_address_have_to_wait(client, zoe):
    answers = [sign_up(client, zoe, display_name="") for _ in range(21)]
    assert [answer.status_code for answer in answers] == [200] * 20 + [429]
    assert "Try again in an hour" in answers[-1].content.decode()


@pytest.mark.storage
def test_a_superuser_of_the_command_line_can_sign_in(client):
    call_command(
        "createsuperuser",
        "--noinput",
        email="Root@example.org",
        handle="the-root",
        display_name="Root",
    )
    root = User.objects.get(email="root@example.org")
    root.set_password(PASSWORD)
    root.save()
    sign_in(client, root)
    led_to = client.get("/admin/", follow=True).request["PATH_INFO"]
    assert led_to == "/accounts/reauthenticate/"  # And from there to a second factor.
    assert OutboxEntry.objects.filter(payload={"user": root.id}).count() == 1
