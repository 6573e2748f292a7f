"""Claims: who processes an entry. A claim is a lease that ends by itself when its holder dies.

Only the first unfinished entry of an ordering key can be claimed, so that entries of one key are
never processed at the same time or out of order. The servers' clocks have to agree to within a few
seconds.
"""

import secrets
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, When
from django.utils import timezone

from core.outbox.models import OutboxEntry

LEASE_SECONDS = 30.0


class LeaseLost(Exception):
    """Another process has taken the entry over. What this one still does is repeated there."""


def pending() -> QuerySet[OutboxEntry]:
    return OutboxEntry.objects.filter(done_at__isnull=True, dead_at__isnull=True)


def first_pending() -> QuerySet[OutboxEntry]:
    """The first pending entry of each ordering key."""
    same_key = pending().filter(ordering_key=OuterRef("ordering_key"))
    return pending().filter(~Exists(same_key.filter(pk__lt=OuterRef("pk"))))


def list_due(limit: int) -> list[int]:
    """Ids of the entries that can be claimed now, the longest due first."""
    now = timezone.now()
    due = first_pending().filter(_unclaimed(now), due_at__lte=now)
    return list(due.order_by("due_at", "id").values_list("id", flat=True)[:limit])


def claim(entry_id: int, *, at_once: bool = False) -> OutboxEntry | None:
    """The entry, if it is its key's turn and nobody else is processing it. `at_once` does not wait
    for `due_at`, unless the handler has failed before."""
    now, token = timezone.now(), secrets.token_hex(8)
    ready = Q(due_at__lte=now) | (Q(failures=0) if at_once else Q())
    free = first_pending().filter(_unclaimed(now), ~_busy(now), ready, pk=entry_id)
    with transaction.atomic():
        if _is_locked(free):
            return None
        is_claimed = free.update(
            claimed_by=token,
            claimed_until=now + timedelta(seconds=LEASE_SECONDS),
            attempts=F("attempts") + 1,
            # A lease that ended without a release: its holder died while it ran the handler.
            failures=F("failures") + Case(When(claimed_until__isnull=False, then=1), default=0),
        )
    return OutboxEntry.objects.get(pk=entry_id) if is_claimed else None


def _unclaimed(now: datetime) -> Q:
    return Q(claimed_until__isnull=True) | Q(claimed_until__lte=now)


def _busy(now: datetime) -> Exists:
    """A later entry is being processed: this one was a dead letter until a moment ago."""
    same_key = pending().filter(ordering_key=OuterRef("ordering_key"), claimed_until__gt=now)
    return Exists(same_key.exclude(pk=OuterRef("pk")))


def _is_locked(entries: QuerySet[OutboxEntry]) -> bool:
    """PostgreSQL would wait for a row that another transaction has locked; the relay must not."""
    if not connection.features.has_select_for_update_skip_locked:
        return False
    return not entries.select_for_update(skip_locked=True).values_list("pk").first()


def extend(entry: OutboxEntry) -> None:
    """Called by long handlers between their steps, so that the lease does not end meanwhile."""
    now = timezone.now()
    if entry.claimed_until is None or entry.claimed_until - now > timedelta(
        seconds=LEASE_SECONDS * 2 / 3
    ):
        return
    until = now + timedelta(seconds=LEASE_SECONDS)
    if not _held(entry).update(claimed_until=until):
        raise LeaseLost(entry.pk)
    entry.claimed_until = until


def complete(entry: OutboxEntry) -> bool:
    done = {"done_at": timezone.now(), "last_error": ""}
    return bool(_held(entry).update(claimed_by="", claimed_until=None, **done))


def release(entry: OutboxEntry, *, due_at: datetime, failures: int, error: str = "") -> None:
    """To be tried again. Later entries of its key cannot go before it: they are not looked at
    until then either."""
    again = {"due_at": due_at, "failures": failures, "last_error": error}
    if _held(entry).update(claimed_by="", claimed_until=None, **again):
        followers = pending().filter(ordering_key=entry.ordering_key, due_at__lt=due_at)
        followers.update(due_at=due_at)


def mark_dead(entry: OutboxEntry, *, failures: int, error: str) -> None:
    """Makes it a dead letter. Later entries of its key go on."""
    dead = {"dead_at": timezone.now(), "failures": failures, "last_error": error}
    _held(entry).update(claimed_by="", claimed_until=None, **dead)


def _held(entry: OutboxEntry) -> QuerySet[OutboxEntry]:
    return pending().filter(pk=entry.pk, claimed_by=entry.claimed_by)
