"""Archiving: messages older than a date, thread by thread. Can be stopped at any time."""

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

# How many small packs before the new messages are looked at, to be put together with them.
LOOK_BACK = 12
UNSETTLED = timedelta(hours=1)


@dataclass
class Archived:
    messages: int = 0
    threads: int = 0
    failed: int = 0


def archive_messages(
    older_than: timedelta,
    *,
    since: date | None = None,
    say: Callable[[str], object] = lambda line: None,
) -> Archived:
    """Shard by shard. A thread that fails keeps its place in the list, and holds up no other."""
    check_location()
    before = datetime.now(UTC) - older_than
    run_checks(datetime.now(UTC) - UNSETTLED)
    first, done = since or work_list.get_first_day(), Archived()
    for shard in range(keys.ARCHIVE_SHARDS):
        for thread_id, days in work_list.list_due(shard, first, before.date()).items():
            _archive(thread_id, days, before, done)
        say(f"{shard + 1} of {keys.ARCHIVE_SHARDS}: {done.messages} messages")
    if not done.failed and since is None:
        work_list.advance_first_day(
            min(before, datetime.now(UTC) - work_list.RETENTION).date(), was=first
        )
    return done


def run_checks(before: datetime) -> int:
    """What was cut off, or could not be done at once."""
    return sum(try_check(check) for check in work_list.list_checks(before))


def try_check(check: PackCheck) -> bool:
    """Now, if that can be; the check waits for the next round if not."""
    try:
        run_check(check)
    except Exception:
        log.exception("pack_not_settled", check=check.sk)
        return False
    return True


def _archive(thread_id: str, days: list[str], before: datetime, done: Archived) -> None:
    try:
        moved, left = archive_thread(thread_id, since=days[0], before=before)
    except Exception as error:
        log.exception("thread_not_archived", thread=thread_id, error=type(error).__name__)
        done.failed += 1
        return
    done.messages += moved
    done.threads += bool(moved)
    if left:
        done.failed += 1
    else:
        work_list.remove_due(thread_id, days, before)


def archive_thread(thread_id: str, *, since: str, before: datetime) -> tuple[int, int]:
    """How many moved, and how many could not, because they were being changed."""
    where = Item.sk.between(keys.messages_since(since), keys.messages_since(keys.iso(before)))
    moved = wanted = 0
    stretch: list[Message] = []
    for item in query_all(keys.thread_pk(thread_id), where, whole=False):
        if isinstance(item, Message) and is_archivable(item):
            stretch.append(item)
        if len(stretch) == MAX_PACK_MESSAGES:
            # So much is a pack of its own.
            wanted += MAX_PACK_MESSAGES
            moved += pack_messages(thread_id, stretch)
            stretch = []
    if stretch:
        wanted += len(stretch)
        moved += _pack_tail(thread_id, stretch)
    return moved, wanted - moved


def is_archivable(message: Message) -> bool:
    """What was removed or hidden is kept for staff, and stays where it is."""
    return not message.archive_ref and not message.is_redacted and bool(get_content(message))


def _pack_tail(thread_id: str, stretch: list[Message]) -> int:
    """Together with the small packs before it, so that a page of old messages opens few. Only with
    those that are not much larger: then each message is packed anew a few times in all."""
    before = _list_packs_before(stretch[0])
    together: list[Pack] = []
    count = len(stretch)
    while before and _is_small(before[0]) and before[0].held <= 2 * count:
        together.append(before.pop(0))
        count += together[-1].held
    messages = [*_messages_of(together), *stretch]
    return max(0, pack_messages(thread_id, messages) - (len(messages) - len(stretch)))


def _list_packs_before(message: Message) -> list[Pack]:
    """Nearest first."""
    last = keys.pack_sk(message.id.removeprefix("msg_"))
    where = Item.sk.between(keys.PACKS, last)
    return query(message.pk, where, limit=LOOK_BACK, newest_first=True).of(Pack)


def _is_small(found: Pack) -> bool:
    return found.held < MAX_PACK_MESSAGES // 2 and found.size < MAX_PACK_BYTES // 2


def _messages_of(together: list[Pack]) -> list[Message]:
    """Whole, in order."""
    if not together:
        return []
    ids = {found.id for found in together}
    where = Item.sk.between(
        keys.message_sk(together[-1].first_message_id),
        keys.message_sk(together[0].last_message_id),
    )
    items = query_all(together[0].pk, where)
    return [item for item in items if isinstance(item, Message) and item.archive_ref in ids]
