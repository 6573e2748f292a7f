"""Dead letters, how much waits, and the removal of entries that are done."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Min, QuerySet
from django.utils import timezone

from core.outbox.claims import pending
from core.outbox.models import OutboxEntry

MAX_BATCH_SIZE = 1000


@dataclass(frozen=True)
class Backlog:
    pending: int
    dead: int
    # Of the entry that is due for the longest time.
    lag_seconds: float


def measure_backlog() -> Backlog:
    now = timezone.now()
    oldest = pending().filter(due_at__lte=now).aggregate(at=Min("due_at"))["at"]
    lag = (now - oldest).total_seconds() if oldest else 0.0
    return Backlog(pending().count(), dead_letters().count(), lag)


def dead_letters() -> QuerySet[OutboxEntry]:
    return OutboxEntry.objects.filter(dead_at__isnull=False)


def retry_dead_letters(entries: QuerySet[OutboxEntry]) -> int:
    """Dead letters become due again, with as many attempts as a new entry has."""
    fresh = {"dead_at": None, "due_at": timezone.now(), "attempts": 0, "failures": 0}
    return entries.filter(dead_at__isnull=False).update(**fresh)


def make_due(ordering_keys: Collection[str]) -> int:
    """What postponed these entries may be over: the relay tries them next."""
    now = timezone.now()
    waiting = pending().filter(ordering_key__in=ordering_keys, due_at__gt=now)
    return waiting.update(due_at=now)


def delete_done(older_than: timedelta) -> int:
    """Entries that were done longer ago than that."""
    before, deleted = timezone.now() - older_than, 0
    while True:
        old = OutboxEntry.objects.filter(done_at__lt=before).order_by("done_at")
        ids = list(old.values_list("pk", flat=True)[:MAX_BATCH_SIZE])
        deleted += OutboxEntry.objects.filter(pk__in=ids).delete()[0]
        if len(ids) < MAX_BATCH_SIZE:
            return deleted
