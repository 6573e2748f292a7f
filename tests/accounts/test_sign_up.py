import re

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


def test_a_new_user_signs_up_and_is_signed_in_by_the_link_in_the_mail(client, new_email):
    response = sign_up(client, new_email)
    assert response.url == "/accounts/confirm-email/"
    assert not is_signed_in(client)

    link = link_in(mail.outbox[0])
    assert new_email in client.get(link).content.decode()
    client.post(link)

    assert is_signed_in(client)
    person = User.objects.get(email=new_email)
    assert is_id("usr", person.id)
    assert (person.display_name, person.handle) == ("Zoë Müller", "zoe-muller")
    assert (person.city, person.time_zone) == ("Köln", "Europe/Berlin")


def test_a_get_request_of_the_link_confirms_nothing(client, make_client, new_email):
    sign_up(client, new_email)
    make_client().get(link_in(mail.outbox[0]))  # As a mail scanner does.
    assert not EmailAddress.objects.get(email=new_email).verified


def test_the_link_works_in_another_browser_without_signing_in(client, make_client, new_email):
    sign_up(client, new_email)
    other_client = make_client()
    assert other_client.post(link_in(mail.outbox[0])).url == "/accounts/login/"
    assert not is_signed_in(other_client)
    assert sign_in(other_client, User.objects.get(email=new_email)).url == "/onboarding/"


def test_without_the_link_the_right_password_does_not_sign_in(client, make_client, new_email):
    sign_up(client, new_email)
    other_client = make_client()
    response = sign_in(other_client, User.objects.get(email=new_email))
    assert response.url == "/accounts/confirm-email/"
    assert not is_signed_in(other_client)


def test_a_sign_up_with_a_known_address_looks_like_any_other(client, make_client, mara, new_email):
    other = make_client()
    new, known = sign_up(client, new_email), sign_up(other, mara.email.upper())

    assert (new.status_code, new.url) == (known.status_code, known.url)
    assert page_after(client, new_email) == page_after(other, mara.email)
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
def test_user_and_outbox_entry_are_stored_in_one_transaction(client, new_email):
    sign_up(client, new_email)
    entry = OutboxEntry.objects.get(payload={"user": User.objects.get(email=new_email).id})
    assert (entry.kind, entry.done_at) == ("profile", None)


@pytest.mark.storage
def test_a_failed_sign_up_stores_nothing(client, monkeypatch, new_email):
    def fail(user):
        raise RuntimeError("the disk is full")

    monkeypatch.setattr("accounts.forms.add_profile_entry", fail)
    with pytest.raises(RuntimeError):
        sign_up(client, new_email)
    assert not User.objects.filter(email=new_email).exists()
    assert not EmailAddress.objects.filter(email=new_email).exists()


def test_a_taken_handle_is_refused_and_a_suggested_one_is_accepted(client, make_person, new_email):
    make_person(handle="zoe-muller")
    response = sign_up(client, new_email, handle="@Zoe-Muller")
    assert response.context["form"].errors["handle"] == ["This handle is taken."]
    sign_up(client, new_email)
    assert User.objects.get(email=new_email).handle == "zoe-muller-2"


@pytest.mark.storage
def test_a_handle_taken_concurrently_asks_the_user_to_try_again(
    client, make_person, monkeypatch, new_email
):
    checked = SignUpForm.clean_handle

    def lose(form):
        handle = checked(form)
        make_person(handle=handle)
        return handle

    monkeypatch.setattr(SignUpForm, "clean_handle", lose)
    assert sign_up(client, new_email, handle="zoe").status_code == 503
    assert not User.objects.filter(email=new_email).exists()


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
def test_an_invalid_sign_up_is_refused(client, new_email, field, value):
    response = sign_up(client, **{"email": new_email, field: value})
    assert field in response.context["form"].errors
    assert not User.objects.filter(display_name__startswith="Zoë").exists()


def test_the_default_time_zone_is_utc(client, new_email):
    sign_up(client, new_email, time_zone="")
    assert User.objects.get(email=new_email).time_zone == "UTC"


@pytest.mark.storage
def test_an_address_has_one_account_in_any_spelling(mara):
    with pytest.raises(IntegrityError), transaction.atomic():
        User.objects.create(email=mara.email.upper(), handle="other", display_name="Other")


def test_sign_ups_from_one_address_are_limited(client, new_email):
    responses = [sign_up(client, new_email, display_name="") for _ in range(21)]
    assert [response.status_code for response in responses] == [200] * 20 + [429]
    assert "Try again in an hour" in responses[-1].content.decode()


@pytest.mark.storage
def test_a_superuser_created_on_the_command_line_can_sign_in(client):
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
    redirected_to = client.get("/admin/", follow=True).request["PATH_INFO"]
    # The next page asks for a second factor.
    assert redirected_to == "/accounts/reauthenticate/"
    assert OutboxEntry.objects.filter(payload={"user": root.id}).count() == 1
