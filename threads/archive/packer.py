"""Moving what messages say into a pack, and seeing to packs that are no longer right.

The order makes it safe to stop anywhere. The pack's item and a check of it are there before its
object. The object is read again before any message points to it. A message points to it in the
write that clears it, on the condition that it is as it was packed and that the pack's item is still
there. An object goes after its item, and that goes only if no message was pointed to it since one
looked. What was left half is found by its check.
"""

import secrets
from collections.abc import Iterator, Sequence

import structlog
from pynamodb.expressions.condition import Condition

from core.ids import new_ulid
from threads.archive.location import check_location
from threads.dynamodb import keys
from threads.dynamodb.change import Change
from threads.dynamodb.retry import Backoff
from threads.dynamodb.table import Item, query_all
from threads.dynamodb.transactions import Transaction, TransactionCancelled, delete
from threads.models import Message, Pack, PackCheck, PackedThread, packs

log = structlog.get_logger(__name__)

# Of a pack: so many messages, and bytes of what they say, unless one alone has more.
MAX_PACK_MESSAGES, MAX_PACK_BYTES = 200, 512 * 1024
# Messages in one transaction, which takes a hundred items.
MAX_MESSAGES_PER_TRANSACTION = 90


class PackDeleted(Exception):
    """Somebody took the pack for left over while it was being made. Nothing was lost."""


def pack_messages(thread_id: str, messages: Sequence[Message]) -> int:
    """Into new packs, and out of those that they are in; how many moved. They have to be whole."""
    check_location()
    before = sorted({message.archive_ref for message in messages if message.archive_ref})
    checks = [_note_check(thread_id, pack_id) for pack_id in before]
    moved = sum(_pack_one(thread_id, chunk) for chunk in _chunks(messages))
    for check in checks:
        run_check(check)
    return moved


def estimate_size(message: Message) -> int:
    earlier = sum(len(old["body"]) for old in message.earlier_bodies or [])
    return len(message.body or "") + earlier + 200 * len(message.attachments or [])


def _chunks(messages: Sequence[Message]) -> Iterator[list[Message]]:
    chunk: list[Message] = []
    size = 0
    for message in messages:
        if chunk and (
            len(chunk) == MAX_PACK_MESSAGES or size + estimate_size(message) > MAX_PACK_BYTES
        ):
            yield chunk
            chunk, size = [], 0
        chunk.append(message)
        size += estimate_size(message)
    if chunk:
        yield chunk


def _pack_one(thread_id: str, messages: list[Message]) -> int:
    new, check = _announce(thread_id, messages)
    packs.store_pack(thread_id, new.id, {each.id: packs.get_content(each) for each in messages})
    moved = 0
    for start in range(0, len(messages), MAX_MESSAGES_PER_TRANSACTION):
        moved += _point(new, messages[start : start + MAX_MESSAGES_PER_TRANSACTION])
    run_check(check)
    return moved


def _announce(thread_id: str, messages: list[Message]) -> tuple[Pack, PackCheck]:
    last = messages[-1].id
    new = Pack(
        keys.thread_pk(thread_id),
        keys.pack_sk(f"{last.removeprefix('msg_')}-{secrets.token_hex(4)}"),
        first_message_id=messages[0].id,
        last_message_id=last,
        held=len(messages),
        size=sum(map(estimate_size, messages)),
    )
    check = make_pack_check(thread_id, new.id)
    write = Transaction()
    write.put("pack", new, Pack.pk.does_not_exist())
    write.put("check", check)
    shard = keys.archive_shard(thread_id)
    write.put("thread", PackedThread(keys.packed_pk(shard), keys.pair_thread_sk(thread_id)))
    write.commit()
    return new, check


def _point(new: Pack, messages: list[Message]) -> int:
    """Those that were changed since they were read stay as they are."""
    backoff = Backoff()
    waiting = {message.id: message for message in messages}
    while waiting:
        write = Transaction()
        write.update("pack", new, Change(add={"moves": 1}), Pack.pk.exists())
        for message in waiting.values():
            change = Change(set={"archive_ref": new.id}, remove=packs.PACKED_FIELDS)
            write.update(message.id, message, change, _as_packed(message))
        try:
            write.commit()
            return len(waiting)
        except TransactionCancelled as cancelled:
            if cancelled.failed("pack"):
                raise PackDeleted(new.id) from cancelled
            changed = [each for each in waiting if cancelled.failed(each)]
            if not changed:
                backoff.wait()
            for message_id in changed:
                del waiting[message_id]
    return 0


def _as_packed(message: Message) -> Condition:
    if message.archive_ref:
        # Whatever changes what it says brings it back first.
        return Message.archive_ref == message.archive_ref
    return Message.archive_ref.does_not_exist() & (Message.rev == message.rev)


# --- Packs that may no longer be right


def make_pack_check(thread_id: str, pack_id: str) -> PackCheck:
    """One for each reason, so that seeing to one does not undo another."""
    shard = keys.archive_shard(thread_id)
    return PackCheck(
        keys.pack_check_pk(shard), keys.pack_check_sk(thread_id, pack_id, str(new_ulid()))
    )


def _note_check(thread_id: str, pack_id: str) -> PackCheck:
    check = make_pack_check(thread_id, pack_id)
    check.save()
    return check


def run_check(check: PackCheck) -> None:
    """A pack that nothing points to goes; one that holds more than what points to it is made anew,
    without that. Twice is once."""
    check_location()
    thread_id, pack_id, _ = check.parts
    found = Pack.find(keys.thread_pk(thread_id), keys.pack_sk(pack_id))
    if found is None:
        packs.delete_pack(thread_id, pack_id)
    elif not _is_set_right(found):
        return
    check.delete()


def _is_set_right(found: Pack) -> bool:
    pointing = list_referencing_messages(found)
    if not pointing:
        # Not if a message was pointed to it since.
        is_gone = delete(found, Pack.moves == found.moves)
        if is_gone:
            packs.delete_pack(found.thread_id, found.id)
        return is_gone
    if len(pointing) != found.held:
        packs.load_contents(pointing)
        pack_messages(found.thread_id, pointing)
    return True


def list_referencing_messages(found: Pack) -> list[Message]:
    """As they are in the table."""
    where = Item.sk.between(
        keys.message_sk(found.first_message_id), keys.message_sk(found.last_message_id)
    )
    items = query_all(found.pk, where, whole=False)
    return [item for item in items if isinstance(item, Message) and item.archive_ref == found.id]
