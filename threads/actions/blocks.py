"""One person wants nothing to do with another: at once, both ways, in all that they share."""

from django.db import transaction

from accounts.blocks import lock_users
from accounts.models import Block, User
from core.outbox.models import OutboxEntry
from core.refusals import Refusal
from threads import outbox_handlers


def block_person(blocker: User, *, blocked: User) -> None:
    if blocker.id == blocked.id:
        raise Refusal("ACTION_FORBIDDEN", "You cannot block yourself.")
    with transaction.atomic():
        lock_users([blocker.id, blocked.id])
        Block.objects.get_or_create(blocker=blocker, blocked=blocked)
        entry = _tell_the_table(blocker, blocked)
    outbox_handlers.process_entry(entry)


def unblock_person(blocker: User, *, blocked: User) -> None:
    with transaction.atomic():
        Block.objects.filter(blocker=blocker, blocked=blocked).delete()
        entry = _tell_the_table(blocker, blocked)
    outbox_handlers.process_entry(entry)


def _tell_the_table(blocker: User, blocked: User) -> OutboxEntry:
    return OutboxEntry.objects.create(
        kind="block", payload={"blocker": blocker.id, "blocked": blocked.id}
    )
