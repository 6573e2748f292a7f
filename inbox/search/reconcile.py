"""Finds threads whose index differs from the table, and rebuilds the whole index.

The archive's work list has the threads with messages on each day, so no Scan is needed.
"""

import time
from collections.abc import Iterable, Iterator
from datetime import date, timedelta

from django.utils import timezone

from accounts.models import User
from inbox.models import Checked, IndexedThread
from inbox.search.index import Pause, index_thread, no_pause, remove_thread, throttle
from threads.dynamodb import keys
from threads.dynamodb.table import get_many, query_all
from threads.models import Thread
from threads.queries import list_all_rows

BATCH_SIZE = 100


def reconcile_index(pause: Pause = no_pause) -> int:
    """Indexes the threads with messages since the last check whose index differs from the table."""
    checked = Checked.objects.first()
    today = timezone.now().date()
    if checked is None:
        indexed = rebuild_index(pause)
    else:
        # One day more: messages just before midnight may have been missed.
        since = date.fromisoformat(checked.day) - timedelta(days=1)
        days = [since + timedelta(days=n) for n in range((today - since).days + 1)]
        indexed = _index_differing(_due(days), pause)
    Checked.objects.update_or_create(pk=1, defaults={"day": today.isoformat()})
    return indexed


def rebuild_index(pause: Pause = no_pause) -> int:
    """Rebuilds thread by thread, so that the others can be searched meanwhile."""
    threads = set(_all_threads())
    for thread_id in IndexedThread.objects.exclude(pk__in=threads).values_list("pk", flat=True):
        remove_thread(thread_id)
    for thread_id in sorted(threads):
        began = time.monotonic()
        remove_thread(thread_id)
        index_thread(thread_id, pause=pause)
        throttle(pause, began)
    return len(threads)


def _all_threads() -> Iterator[str]:
    """Goes through the folders of all users, without a Scan."""
    for user_id in User.objects.values_list("pk", flat=True).iterator():
        yield from (row.thread_id for row in list_all_rows(user_id))


def _due(days: list[date]) -> Iterator[str]:
    for day in days:
        for shard in range(keys.ARCHIVE_SHARDS):
            pk = keys.archive_shard_pk(day.isoformat(), shard)
            for due in query_all(pk):
                yield due.sk.removeprefix(keys.PAIR_THREADS)


def _index_differing(thread_ids: Iterable[str], pause: Pause) -> int:
    wanted = sorted(set(thread_ids))
    indexed = 0
    for start in range(0, len(wanted), BATCH_SIZE):
        for thread_id in _differing(wanted[start : start + BATCH_SIZE]):
            began = time.monotonic()
            index_thread(thread_id, pause=pause)
            indexed += 1
            throttle(pause, began)
    return indexed


def _differing(thread_ids: list[str]) -> Iterator[str]:
    indexed = {each.pk: each for each in IndexedThread.objects.filter(pk__in=thread_ids)}
    for thread in get_many((keys.thread_pk(thread_id), keys.THREAD) for thread_id in thread_ids):
        if isinstance(thread, Thread) and _differs(thread, indexed.get(thread.id)):
            yield thread.id


def _differs(thread: Thread, indexed: IndexedThread | None) -> bool:
    if indexed is None:
        return True
    now = (thread.last_seq, thread.rev, thread.roster_version)
    return now != (indexed.seq, indexed.rev, indexed.roster_version)
