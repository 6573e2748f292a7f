"""Records a change of a thread's records: a new revision and an outbox entry for DynamoDB."""

from typing import Any

from django.utils import timezone

from accounts.models import User
from contracts.models import Dossier, Leg
from core.outbox.models import OutboxEntry

# The outbox entry kind of changes to the records of a thread.
BOOKING_ENTRY = "booking"


def record_change(
    thread_id: str, *, by: User, key: str, text: str = "", **more: Any
) -> OutboxEntry:
    """Called in the transaction of the change. `text` is a system message for the thread, and
    `key` its idempotency key; `more` is added to the payload."""
    now = timezone.now()
    Dossier.objects.get_or_create(
        thread_id=thread_id, defaults={"changed_by": by, "changed_at": now}
    )
    # Concurrent changes of the thread wait here.
    dossier = Dossier.objects.select_for_update().get(pk=thread_id)
    dossier.revision += 1
    dossier.changed_by, dossier.changed_at = by, now
    # The reminder worker computes the next due date.
    dossier.reminders_at = now
    dossier.save()
    # The user named in the text, by id, so that a later change of name can be applied.
    named = {by.id: by.display_name} if text.startswith(f"{by.display_name} ") else {}
    payload = {"thread": thread_id, "key": key, "says": text, "by": by.id, "named": named, **more}
    return OutboxEntry.objects.create(kind=BOOKING_ENTRY, payload=payload)


def record_leg_change(leg: Leg, *, by: User, key: str, text: str) -> list[OutboxEntry]:
    """Records the change for the leg's thread and for its group's thread. The group's thread gets
    no text, because the terms are private to the two parties."""
    entries = [record_change(leg.thread_id, by=by, key=key, text=text)]
    if leg.group is not None and leg.group.thread_id != leg.thread_id:
        entries.append(record_change(leg.group.thread_id, by=by, key=key))
    return entries
