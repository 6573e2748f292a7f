"""What is to be archived, by the day: found through the work list that sends leave behind."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

from threads.dynamodb import keys
from threads.dynamodb.change import Change
from threads.dynamodb.table import query_all
from threads.dynamodb.transactions import update
from threads.models import ArchiveDue, ArchiveStart, PackCheck, PackedThread

# Before there was any of this.
FIRST_DAY = date(2020, 1, 1)
# Search finds what it has missed by the same list: it is left alone for a while.
RETENTION = timedelta(days=30)


def list_due(shard: int, first: date, last: date) -> dict[str, list[str]]:
    """By thread, the days on which it has messages; oldest first."""
    due: dict[str, list[str]] = defaultdict(list)
    for n in range((last - first).days + 1):
        day = (first + timedelta(days=n)).isoformat()
        for item in query_all(keys.archive_shard_pk(day, shard)):
            if isinstance(item, ArchiveDue):
                due[item.sk.removeprefix(keys.PAIR_THREADS)].append(day)
    return due


def remove_due(thread_id: str, days: list[str], before: datetime) -> None:
    """Days that are over and done with."""
    last = min(before, datetime.now(UTC) - RETENTION).date().isoformat()
    for day in days:
        if day < last:
            make_archive_due_item(thread_id, day).delete()


def make_archive_due_item(thread_id: str, day: str) -> ArchiveDue:
    return ArchiveDue(keys.archive_pk(day, thread_id), keys.pair_thread_sk(thread_id))


def get_first_day() -> date:
    found = ArchiveStart.find(keys.ARCHIVING, keys.STATE)
    return date.fromisoformat(found.day) if found else FIRST_DAY


def advance_first_day(day: date, *, was: date) -> None:
    """All before that day is done, unless something from before came in meanwhile."""
    start = ArchiveStart(keys.ARCHIVING, keys.STATE)
    as_it_was = ArchiveStart.day.does_not_exist() | (ArchiveStart.day == was.isoformat())
    update(start, Change(set={"day": day.isoformat()}), as_it_was)


def include_earlier_day(day: date) -> None:
    """There is something from before: history that was brought in, or messages brought back."""
    start = ArchiveStart(keys.ARCHIVING, keys.STATE)
    update(start, Change(set={"day": day.isoformat()}), ArchiveStart.day > day.isoformat())


def list_checks(before: datetime) -> Iterator[PackCheck]:
    """Noted before that time: whoever noted them would have seen to them by now."""
    limit = before.timestamp() * 1000
    for shard in range(keys.ARCHIVE_SHARDS):
        for item in query_all(keys.pack_check_pk(shard)):
            if isinstance(item, PackCheck) and keys.ulid_ms(item.parts[2]) < limit:
                yield item


def list_packed_threads() -> Iterator[str]:
    """Threads that have packs, or had some."""
    for shard in range(keys.ARCHIVE_SHARDS):
        for item in query_all(keys.packed_pk(shard)):
            if isinstance(item, PackedThread):
                yield item.thread_id
