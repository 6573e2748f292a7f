"""Blocks between users in SQL, including those that are not replicated to DynamoDB yet."""

from collections.abc import Iterable

from django.db.models import Q

from accounts.models import Block, User


def lock_users(user_ids: Iterable[str]) -> None:
    """Serialises changes to blocks of these users until this transaction ends."""
    list(User.objects.select_for_update().filter(pk__in=list(user_ids)).order_by("pk"))


def list_blocks_between(user_id: str, others: Iterable[str]) -> set[tuple[str, str]]:
    """Blocks between a user and others, as (blocker, blocked)."""
    ids = list(others)
    between = Q(blocker=user_id, blocked__in=ids) | Q(blocker__in=ids, blocked=user_id)
    return set(Block.objects.filter(between).values_list("blocker_id", "blocked_id"))


def has_blocks_among(user_ids: Iterable[str]) -> bool:
    """Whether any two of these users have a block between them."""
    ids = list(user_ids)
    return Block.objects.filter(blocker__in=ids, blocked__in=ids).exists()
