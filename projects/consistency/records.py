"""Checks that SQL records are present in DynamoDB."""

from collections.abc import Iterator
from typing import Any

from django.db.models import F, QuerySet

from accounts.models import Block, User
from contracts.models import Dossier, Offer
from core.outbox.claims import pending
from projects.panel.rebuild import list_differences
from threads.dynamodb import keys
from threads.dynamodb.table import get_many
from threads.models import Pair, Profile

PAGE_SIZE = 100


def compare_threads() -> Iterator[str]:
    for thread_id in Dossier.objects.order_by("pk").values_list("pk", flat=True).iterator():
        for problem in list_differences(thread_id):
            yield f"{thread_id}: {problem}"


def compare_offers() -> Iterator[str]:
    """The status of an offer is the state of its card."""
    offers = Offer.objects.filter(card__isnull=False).exclude(status=F("card__state"))
    for offer in offers.select_related("card").order_by("pk").iterator():
        card = offer.card
        yield f"{offer.id}: is {offer.status}, but its card {card.id} is {card.state}"


def compare_profiles() -> Iterator[str]:
    for users in _pages(User.objects.filter(deleted_at__isnull=True)):
        found = get_many((keys.user_pk(user.id), keys.PROFILE) for user in users)
        there = {item.pk for item in found if isinstance(item, Profile)}
        for user in users:
            if keys.user_pk(user.id) not in there and not _is_pending(f"user:{user.id}"):
                yield f"{user.id}: has no profile in DynamoDB"


def compare_blocks() -> Iterator[str]:
    for blocks in _pages(Block.objects.all()):
        pairs = {block.pk: keys.pair_pk(block.blocker_id, block.blocked_id) for block in blocks}
        found = get_many((pk, keys.STATE) for pk in pairs.values())
        blocked_by = {item.pk: item.blocked_by or set() for item in found if isinstance(item, Pair)}
        for block in blocks:
            if block.blocker_id in blocked_by.get(pairs[block.pk], set()):
                continue
            first, second = sorted((block.blocker_id, block.blocked_id))
            if not _is_pending(f"pair:{first}:{second}"):
                yield f"{block.blocker_id}: the block of {block.blocked_id} is not in DynamoDB"


def _is_pending(ordering_key: str) -> bool:
    """Whether the outbox still has to process a change."""
    return pending().filter(ordering_key=ordering_key).exists()


def _pages(rows: QuerySet[Any]) -> Iterator[list[Any]]:
    last = None
    while True:
        after = rows if last is None else rows.filter(pk__gt=last)
        page = list(after.order_by("pk")[:PAGE_SIZE])
        if not page:
            return
        yield page
        last = page[-1].pk
