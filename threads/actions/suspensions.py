"""What staff do about a person: no writing for a while, or no account for a while."""

from datetime import datetime

from django.db import transaction

from accounts.models import User, add_profile_entry
from core.outbox.models import OutboxEntry
from realtime.broadcast.delivery import recheck_sessions
from threads import outbox_handlers


def mute_person(person: User, *, until: datetime | None) -> None:
    """They read and do not write, in any thread, until then; without a time they write again."""
    with transaction.atomic():
        User.objects.filter(pk=person.pk).update(muted_until=until)
        entry = OutboxEntry.objects.create(kind="mute", payload={"user": person.id})
    outbox_handlers.process_entry(entry)


def suspend_person(person: User) -> None:
    """Signed out at once, everywhere, and for others not there."""
    _set_active(person, False)


def restore_person(person: User) -> None:
    _set_active(person, True)


def _set_active(person: User, active: bool) -> None:
    with transaction.atomic():
        User.objects.filter(pk=person.pk, deleted_at=None).update(is_active=active)
        entry = add_profile_entry(person)
    outbox_handlers.process_entry(entry)
    recheck_sessions(person.id)
