"""Blocks between people as SQL has them, whether the table knows them yet or not."""

from collections.abc import Iterable

from django.db.models import Q

from accounts.models import Block, User


def lock_users(user_ids: Iterable[str]) -> None:
    """Whoever blocks one of them, or brings them together, waits until this transaction ends."""
    list(User.objects.select_for_update().filter(pk__in=list(user_ids)).order_by("pk"))


def list_blocks_between(user_id: str, others: Iterable[str]) -> set[tuple[str, str]]:
    """Blocks between one person and some others, as (blocker, blocked)."""
    ids = list(others)
    between = Q(blocker=user_id, blocked__in=ids) | Q(blocker__in=ids, blocked=user_id)
    return set(Block.objects.filter(between).values_list("blocker_id", "blocked_id"))


def has_blocks_among(user_ids: Iterable[str]) -> bool:
    """Whether any two of these people have a block between them."""
    ids = list(user_ids)
    return Block.objects.filter(blocker__in=ids, blocked__in=ids).exists()
