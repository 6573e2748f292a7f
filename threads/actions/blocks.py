"""Blocking a user: effective immediately, in both directions, in every thread that both share."""

from django.db import transaction

from accounts.blocks import lock_users
from accounts.models import Block, User
from core.outbox import processing
from core.outbox.models import OutboxEntry
from core.refusals import Refusal


def block_person(blocker: User, *, blocked: User) -> None:
    if blocker.id == blocked.id:
        raise Refusal("ACTION_FORBIDDEN", "You can't block yourself.")
    with transaction.atomic():
        lock_users([blocker.id, blocked.id])
        Block.objects.get_or_create(blocker=blocker, blocked=blocked)
        entry = _add_outbox_entry(blocker, blocked)
    processing.process_entry(entry)


def unblock_person(blocker: User, *, blocked: User) -> None:
    with transaction.atomic():
        Block.objects.filter(blocker=blocker, blocked=blocked).delete()
        entry = _add_outbox_entry(blocker, blocked)
    processing.process_entry(entry)


def _add_outbox_entry(blocker: User, blocked: User) -> OutboxEntry:
    return OutboxEntry.objects.create(
        kind="block", payload={"blocker": blocker.id, "blocked": blocked.id}
    )
