"""Muting and suspending a user, by staff."""

from datetime import datetime

from django.db import transaction

from accounts.models import User, add_profile_entry
from core.outbox import processing
from core.outbox.models import OutboxEntry
from realtime.broadcast.delivery import recheck_sessions


def mute_person(person: User, *, until: datetime | None) -> None:
    """The user cannot send in any thread until then; None ends the mute."""
    with transaction.atomic():
        User.objects.filter(pk=person.pk).update(muted_until=until)
        entry = OutboxEntry.objects.create(kind="mute", payload={"user": person.id})
    processing.process_entry(entry)


def suspend_person(person: User) -> None:
    """Ends all sessions of the user and hides the account from others."""
    _set_active(person, False)


def restore_person(person: User) -> None:
    _set_active(person, True)


def _set_active(person: User, active: bool) -> None:
    with transaction.atomic():
        User.objects.filter(pk=person.pk, deleted_at=None).update(is_active=active)
        entry = add_profile_entry(person)
    processing.process_entry(entry)
    recheck_sessions(person.id)
