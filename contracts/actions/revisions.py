"""A change of what a thread is about: one more revision, and an entry for the table to follow."""

from typing import Any

from django.utils import timezone

from accounts.models import User
from contracts.models import Dossier, Leg
from core.outbox.models import OutboxEntry

# The kind of outbox entry that makes a thread follow its dossier.
KIND = "booking"


def record_change(
    thread_id: str, *, by: User, key: str, says: str = "", **more: Any
) -> OutboxEntry:
    """Called in the transaction of the change. `says` is a line for the conversation, which `key`
    makes come once however often the entry is carried; `more` is what else the table needs."""
    now = timezone.now()
    Dossier.objects.get_or_create(
        thread_id=thread_id, defaults={"changed_by": by, "changed_at": now}
    )
    # Whoever comes second waits here, and then reads what the first has left.
    dossier = Dossier.objects.select_for_update().get(pk=thread_id)
    dossier.revision += 1
    dossier.changed_by, dossier.changed_at = by, now
    dossier.save()
    # Whom the line names, by id: after a change of name they are still found.
    named = {by.id: by.display_name} if says.startswith(f"{by.display_name} ") else {}
    payload = {"thread": thread_id, "key": key, "says": says, "by": by.id, "named": named, **more}
    return OutboxEntry.objects.create(kind=KIND, payload=payload)


def record_leg_change(leg: Leg, *, by: User, key: str, says: str) -> list[OutboxEntry]:
    """The leg's own conversation, which is told; and that of its group, where there are others,
    who see that something changed and not what the two have agreed."""
    entries = [record_change(leg.thread_id, by=by, key=key, says=says)]
    if leg.group is not None and leg.group.thread_id != leg.thread_id:
        entries.append(record_change(leg.group.thread_id, by=by, key=key))
    return entries
