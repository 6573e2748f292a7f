"""All threads: those that differ from what the index has of them, and all of them anew.

The archive's work list names the threads that had messages on a day, so that nothing is scanned.
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

AT_ONCE = 100


def reconcile_index(pause: Pause = no_pause) -> int:
    """Threads with messages since the day that was checked last; those that differ are taken in."""
    checked = Checked.objects.first()
    today = timezone.now().date()
    if checked is None:
        taken = rebuild_index(pause)
    else:
        # A day more: what was sent just before midnight may have been missed.
        since = date.fromisoformat(checked.day) - timedelta(days=1)
        days = [since + timedelta(days=n) for n in range((today - since).days + 1)]
        taken = _take_in_different(_due(days), pause)
    Checked.objects.update_or_create(pk=1, defaults={"day": today.isoformat()})
    return taken


def rebuild_index(pause: Pause = no_pause) -> int:
    """Anew, thread by thread: what is there stays findable meanwhile."""
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
    """Through the people and their folders: there is no Scan."""
    for user_id in User.objects.values_list("pk", flat=True).iterator():
        yield from (row.thread_id for row in list_all_rows(user_id))


def _due(days: list[date]) -> Iterator[str]:
    for day in days:
        for shard in range(keys.ARCHIVE_SHARDS):
            pk = keys.archive_shard_pk(day.isoformat(), shard)
            for due in query_all(pk):
                yield due.sk.removeprefix(keys.PAIR_THREADS)


def _take_in_different(thread_ids: Iterable[str], pause: Pause) -> int:
    wanted = sorted(set(thread_ids))
    taken = 0
    for start in range(0, len(wanted), AT_ONCE):
        for thread_id in _differing(wanted[start : start + AT_ONCE]):
            began = time.monotonic()
            index_thread(thread_id, pause=pause)
            taken += 1
            throttle(pause, began)
    return taken


def _differing(thread_ids: list[str]) -> Iterator[str]:
    known = {each.pk: each for each in IndexedThread.objects.filter(pk__in=thread_ids)}
    for thread in get_many((keys.thread_pk(thread_id), keys.THREAD) for thread_id in thread_ids):
        if isinstance(thread, Thread) and _differs(thread, known.get(thread.id)):
            yield thread.id


def _differs(thread: Thread, known: IndexedThread | None) -> bool:
    if known is None:
        return True
    now = (thread.last_seq, thread.rev, thread.roster_version)
    return now != (known.seq, known.rev, known.roster_version)
