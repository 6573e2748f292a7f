"""The record of what staff look at and do: written before it is done, so that nothing is done
without; chained by hashes, so that a gap shows."""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from moderation.models import AuditEntry, AuditHead

HEAD = 1
BATCH = 1000


@transaction.atomic
def record(
    actor: User,
    act: str,
    *,
    case_id: str,
    target: str = "",
    reason: str = "",
    **details: Any,
) -> AuditEntry:
    AuditHead.objects.get_or_create(pk=HEAD)
    # Whoever comes second waits here: the chain has one end.
    head = AuditHead.objects.select_for_update().get(pk=HEAD)
    entry = AuditEntry(
        number=head.number + 1,
        at=timezone.now(),
        actor=actor.id,
        act=act,
        case=case_id,
        target=target,
        reason=reason,
        details=details,
        previous_hash=head.hash,
    )
    entry.hash = hash_entry(entry)
    entry.save(force_insert=True)
    head.number, head.hash = entry.number, entry.hash
    head.save()
    return entry


def hash_entry(entry: AuditEntry) -> str:
    held = [
        entry.number,
        entry.at.isoformat(),
        entry.actor,
        entry.act,
        entry.case,
        entry.target,
        entry.reason,
        entry.details,
        entry.previous_hash,
    ]
    text = json.dumps(held, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def find_faults() -> Iterator[str]:
    """Walks the chain; nothing, if it is whole."""
    number, before = 0, ""
    for entry in AuditEntry.objects.order_by("number").iterator(BATCH):
        if entry.number != number + 1:
            yield _missing(number + 1, entry.number - 1)
        elif entry.previous_hash != before:
            yield f"Entry {entry.number} does not follow from the one before it."
        if entry.hash != hash_entry(entry):
            yield f"Entry {entry.number} is not as it was written."
        number, before = entry.number, entry.hash
    head = AuditHead.objects.filter(pk=HEAD).first() or AuditHead()
    if head.number > number:
        yield _missing(number + 1, head.number)
    elif (head.number, head.hash) != (number, before):
        yield "The end of the audit is not where it was."


def _missing(first: int, last: int) -> str:
    return (
        f"Entry {first} is missing." if first == last else f"Entries {first} to {last} are missing."
    )
