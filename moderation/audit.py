"""The audit of what staff view and do.

Entries are written before the action, so that no action is unrecorded, and form a hash chain, so
that missing or changed entries can be detected.
"""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from moderation.models import AuditEntry, AuditHead

HEAD_ID = 1
BATCH_SIZE = 1000


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
    AuditHead.objects.get_or_create(pk=HEAD_ID)
    # Serialises writers: the chain has a single end.
    head = AuditHead.objects.select_for_update().get(pk=HEAD_ID)
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
    content = [
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
    text = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def find_faults() -> Iterator[str]:
    """Verifies the chain; yields nothing if it is intact."""
    number, before = 0, ""
    for entry in AuditEntry.objects.order_by("number").iterator(BATCH_SIZE):
        if entry.number != number + 1:
            yield _missing(number + 1, entry.number - 1)
        elif entry.previous_hash != before:
            yield f"Entry {entry.number} does not match the hash of the one before it."
        if entry.hash != hash_entry(entry):
            yield f"Entry {entry.number} was changed after it was written."
        number, before = entry.number, entry.hash
    head = AuditHead.objects.filter(pk=HEAD_ID).first() or AuditHead()
    if head.number > number:
        yield _missing(number + 1, head.number)
    elif (head.number, head.hash) != (number, before):
        yield "The last entry does not match the recorded end of the audit."


def _missing(first: int, last: int) -> str:
    return (
        f"Entry {first} is missing." if first == last else f"Entries {first} to {last} are missing."
    )
