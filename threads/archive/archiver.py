"""Archives messages older than a date, thread by thread. It can be interrupted at any time."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import structlog

from threads.archive import work_list
from threads.archive.location import check_location
from threads.archive.packer import MAX_PACK_BYTES, MAX_PACK_MESSAGES, pack_messages, run_check
from threads.dynamodb import keys
from threads.dynamodb.table import Item, query, query_all
from threads.models import Message, Pack, PackCheck
from threads.models.packs import get_content

log = structlog.get_logger(__name__)

# The number of preceding small packs that are considered for merging with new messages.
MAX_MERGED_PACKS = 12
# Younger checks may belong to a process that is still running.
MIN_CHECK_AGE = timedelta(hours=1)


@dataclass
class Archived:
    messages: int = 0
    threads: int = 0
    failed: int = 0


def archive_messages(
    older_than: timedelta,
    *,
    since: date | None = None,
    on_progress: Callable[[str], object] = lambda line: None,
) -> Archived:
    """Archives shard by shard. A thread that fails stays on the work list; the others go on."""
    check_location()
    before = datetime.now(UTC) - older_than
    run_checks(datetime.now(UTC) - MIN_CHECK_AGE)
    first, result = since or work_list.get_first_day(), Archived()
    for shard in range(keys.ARCHIVE_SHARDS):
        for thread_id, days in work_list.list_due(shard, first, before.date()).items():
            _archive(thread_id, days, before, result)
        on_progress(f"{shard + 1} of {keys.ARCHIVE_SHARDS}: {result.messages} messages")
    if not result.failed and since is None:
        work_list.advance_first_day(
            min(before, datetime.now(UTC) - work_list.RETENTION).date(), was=first
        )
    return result


def run_checks(before: datetime) -> int:
    """Runs the checks that interrupted or failed operations left."""
    return sum(try_check(check) for check in work_list.list_checks(before))


def try_check(check: PackCheck) -> bool:
    """Runs a check now; if it fails, it is left for the next run."""
    try:
        run_check(check)
    except Exception:
        log.exception("pack_check_failed", check=check.sk)
        return False
    return True


def _archive(thread_id: str, days: list[str], before: datetime, result: Archived) -> None:
    try:
        moved, unmoved = archive_thread(thread_id, since=days[0], before=before)
    except Exception as error:
        log.exception("archive_failed", thread=thread_id, error=type(error).__name__)
        result.failed += 1
        return
    result.messages += moved
    result.threads += bool(moved)
    if unmoved:
        result.failed += 1
    else:
        work_list.remove_due(thread_id, days, before)


def archive_thread(thread_id: str, *, since: str, before: datetime) -> tuple[int, int]:
    """Returns how many messages moved, and how many were changed concurrently and did not."""
    where = Item.sk.between(keys.messages_since(since), keys.messages_since(keys.iso(before)))
    moved = wanted = 0
    unpacked: list[Message] = []
    for item in query_all(keys.thread_pk(thread_id), where, with_contents=False):
        if isinstance(item, Message) and is_archivable(item):
            unpacked.append(item)
        if len(unpacked) == MAX_PACK_MESSAGES:
            # A full pack is not merged with others.
            wanted += MAX_PACK_MESSAGES
            moved += pack_messages(thread_id, unpacked)
            unpacked = []
    if unpacked:
        wanted += len(unpacked)
        moved += _pack_tail(thread_id, unpacked)
    return moved, wanted - moved


def is_archivable(message: Message) -> bool:
    """Removed and hidden messages are kept for staff and stay in the table."""
    return not message.archive_ref and not message.is_withheld and bool(get_content(message))


def _pack_tail(thread_id: str, unpacked: list[Message]) -> int:
    """Packs the messages merged with the small packs before them, so that a page of old messages
    opens few packs. Much larger packs are not merged, so that a message is repacked rarely."""
    before = _list_packs_before(unpacked[0])
    merged: list[Pack] = []
    count = len(unpacked)
    while before and _is_small(before[0]) and before[0].held <= 2 * count:
        merged.append(before.pop(0))
        count += merged[-1].held
    messages = [*_messages_of(merged), *unpacked]
    return max(0, pack_messages(thread_id, messages) - (len(messages) - len(unpacked)))


def _list_packs_before(message: Message) -> list[Pack]:
    """The packs before a message, nearest first."""
    last = keys.pack_sk(message.id.removeprefix("msg_"))
    where = Item.sk.between(keys.PACKS, last)
    return query(message.pk, where, limit=MAX_MERGED_PACKS, newest_first=True).of(Pack)


def _is_small(found: Pack) -> bool:
    return found.held < MAX_PACK_MESSAGES // 2 and found.size < MAX_PACK_BYTES // 2


def _messages_of(merged: list[Pack]) -> list[Message]:
    """The messages of these packs with their contents, in order."""
    if not merged:
        return []
    ids = {found.id for found in merged}
    where = Item.sk.between(
        keys.message_sk(merged[-1].first_message_id),
        keys.message_sk(merged[0].last_message_id),
    )
    items = query_all(merged[0].pk, where)
    return [item for item in items if isinstance(item, Message) and item.archive_ref in ids]
