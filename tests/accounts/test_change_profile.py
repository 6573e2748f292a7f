import pytest
from django.core.exceptions import ValidationError
from django.db import transaction

from accounts.actions import change_profile
from accounts.models import User
from core.outbox.models import OutboxEntry
from tests.accounts.conftest import sign_in

pytestmark = pytest.mark.django_db


def profile_of(person, **fields):
    profile = {
        "display_name": person.display_name,
        "handle": person.handle,
        "headline": "Portraits, on film",
        "about": "Twelve years behind a camera.",
        "city": person.city,
        "time_zone": person.time_zone,
    }
    return profile | fields


def entries_of(person):
    return OutboxEntry.objects.filter(kind="profile", payload={"user": person.id}).count()


@pytest.mark.storage
def test_a_change_is_saved_and_queued_in_the_outbox(mara):
    before = entries_of(mara)
    change_profile(mara, **profile_of(mara, display_name="Mara Lindqvist", city="Kiel"))
    stored = User.objects.get(pk=mara.pk)
    assert (stored.display_name, stored.city) == ("Mara Lindqvist", "Kiel")
    assert stored.headline == "Portraits, on film"
    assert entries_of(mara) == before + 1


@pytest.mark.storage
def test_a_rolled_back_change_is_not_queued(mara):
    before = entries_of(mara)
    with transaction.atomic():
        change_profile(mara, **profile_of(mara, city="Kiel"))
        assert entries_of(mara) == before + 1
        transaction.set_rollback(True)
    assert User.objects.get(pk=mara.pk).city == "Berlin"
    assert entries_of(mara) == before


@pytest.mark.storage
def test_a_change_that_cannot_be_queued_is_not_saved(mara, monkeypatch):
    def fail(user):
        raise RuntimeError("the disk is full")

    monkeypatch.setattr("accounts.actions.add_profile_entry", fail)
    with pytest.raises(RuntimeError):
        change_profile(mara, **profile_of(mara, city="Kiel"))
    assert User.objects.get(pk=mara.pk).city == "Berlin"


@pytest.mark.storage
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("display_name", ""),
        ("handle", "Admin"),
        ("handle", "settings"),
        ("time_zone", "Mars/Olympus"),
        ("time_zone", "localtime"),
        ("headline", "two\nlines"),
        ("about", "x" * 2001),
    ],
)
def test_an_invalid_value_is_refused(mara, field, value):
    before = entries_of(mara)
    with pytest.raises(ValidationError) as refused:
        change_profile(mara, **profile_of(mara, **{field: value}))
    assert field in refused.value.message_dict
    assert entries_of(mara) == before
    assert getattr(mara, field) != value


@pytest.mark.storage
def test_a_handle_that_is_taken_is_refused(mara, tomas):
    with pytest.raises(ValidationError, match="This handle is taken"):
        change_profile(mara, **profile_of(mara, handle=tomas.handle))


@pytest.mark.storage
def test_a_handle_taken_concurrently_is_refused(mara, tomas, monkeypatch):
    monkeypatch.setattr(User, "full_clean", lambda user: None)  # The handle was free at validation.
    with pytest.raises(ValidationError, match="This handle is taken"):
        change_profile(mara, **profile_of(mara, handle=tomas.handle))


def test_the_settings_page_saves_and_confirms(client, mara):
    sign_in(client, mara)
    response = client.post("/settings/", profile_of(mara, handle="@Mara-L"), follow=True)
    assert "Your profile has been saved." in response.content.decode()
    assert User.objects.get(pk=mara.pk).handle == "mara-l"


def test_the_settings_page_shows_errors_and_keeps_the_input(client, mara, tomas):
    sign_in(client, mara)
    response = client.post("/settings/", profile_of(mara, handle=tomas.handle, city="Kiel"))
    assert response.context["form"].errors == {"handle": ["This handle is taken."]}
    assert response.context["form"]["city"].value() == "Kiel"
    assert response.context["user"].city == "Berlin"


def test_users_cannot_verify_themselves_or_become_staff(client, mara):
    sign_in(client, mara)
    powers = {"verified": "on", "is_staff": "on", "is_superuser": "on", "email": "a@example.org"}
    client.post("/settings/", profile_of(mara, **powers))
    stored = User.objects.get(pk=mara.pk)
    assert {stored.verified, stored.is_staff, stored.is_superuser} == {False}
    assert stored.email == mara.email
