"""Bringing archived messages back into the table, and seeing whether packs are whole."""

from collections.abc import Iterator
from datetime import date

from threads.archive import work_list
from threads.archive.packer import (
    MAX_MESSAGES_PER_TRANSACTION,
    estimate_size,
    list_referencing_messages,
    make_pack_check,
    run_check,
)
from threads.dynamodb import keys
from threads.dynamodb.change import Change
from threads.dynamodb.retry import Backoff
from threads.dynamodb.table import Item, query_all
from threads.dynamodb.transactions import Transaction, TransactionCancelled
from threads.models import Message, Pack, packs

# Of a transaction, which takes 4 MB; what people write may have four bytes for a letter.
MAX_BATCH_CHARS = 500_000


def restore_thread(thread_id: str) -> int:
    """How many came back. Packs go as they are emptied."""
    return sum(_restore(found) for found in list_packs(thread_id))


def list_packs(thread_id: str) -> list[Pack]:
    items = query_all(keys.thread_pk(thread_id), Item.sk.startswith(keys.PACKS))
    return [item for item in items if isinstance(item, Pack)]


def _restore(found: Pack) -> int:
    messages = list_referencing_messages(found)
    packs.load_contents(messages)
    check = make_pack_check(found.thread_id, found.id)
    check.save()
    _make_due(found.thread_id, messages)
    restored = sum(_bring_back(chunk) for chunk in _chunks(messages))
    run_check(check)
    return restored


def _make_due(thread_id: str, messages: list[Message]) -> None:
    """First: what is back in the table is found by the next archiving, whatever happens."""
    days = sorted({message.created_at[:10] for message in messages})
    for day in days:
        work_list.make_archive_due_item(thread_id, day).save()
    if days:
        work_list.include_earlier_day(date.fromisoformat(days[0]))


def _chunks(messages: list[Message]) -> Iterator[list[Message]]:
    chunk: list[Message] = []
    for message in messages:
        if chunk and (
            len(chunk) == MAX_MESSAGES_PER_TRANSACTION
            or sum(map(estimate_size, [*chunk, message])) > MAX_BATCH_CHARS
        ):
            yield chunk
            chunk = []
        chunk.append(message)
    if chunk:
        yield chunk


def _bring_back(messages: list[Message]) -> int:
    """Those that point elsewhere by now are there already."""
    backoff = Backoff()
    waiting = {message.id: message for message in messages}
    while waiting:
        write = Transaction()
        for message in waiting.values():
            here = Message.archive_ref == message.archive_ref
            write.update(message.id, message, restoring_change(message), here)
        try:
            write.commit()
            return len(waiting)
        except TransactionCancelled as cancelled:
            changed = [each for each in waiting if cancelled.failed(each)]
            if not changed:
                backoff.wait()
            for message_id in changed:
                del waiting[message_id]
    return 0


def restoring_change(message: Message) -> Change:
    return Change(set=packs.get_content(message), remove=("archive_ref",))


def list_damaged(thread_id: str) -> Iterator[tuple[str, str]]:
    """Packs that cannot be read, or that lack something that points to them: which, and why."""
    for found in list_packs(thread_id):
        pointing = list_referencing_messages(found)
        try:
            contents = packs.read_pack(thread_id, found.id)
        except Exception as error:
            if pointing:
                yield found.id, f"{type(error).__name__}: {error}"
            continue
        missing = [message.id for message in pointing if message.id not in contents]
        if missing:
            yield found.id, f"has nothing of {', '.join(missing)}"
