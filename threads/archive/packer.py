"""Moves the contents of messages into packs, and corrects packs that are outdated.

The order of the steps makes an interruption safe. The item of a pack and a check are written before
its object. The object is read again before any message refers to it. A message gets its reference
in the same write that clears its content, on the condition that it is unchanged and that the pack's
item still exists. An object is deleted after its item, which is deleted only if no message has been
pointed to it meanwhile. The check finds what an interruption left.
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

# Limits of a pack; a single message may have more bytes.
MAX_PACK_MESSAGES, MAX_PACK_BYTES = 200, 512 * 1024
# A transaction takes at most 100 items.
MAX_MESSAGES_PER_TRANSACTION = 90


class PackDeleted(Exception):
    """The pack was deleted as unused while it was being created. Nothing was lost."""


def pack_messages(thread_id: str, messages: Sequence[Message]) -> int:
    """Moves messages, with their contents loaded, to new packs; returns how many moved."""
    check_location()
    before = sorted({message.archive_ref for message in messages if message.archive_ref})
    checks = [_add_check(thread_id, pack_id) for pack_id in before]
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
    new, check = _create_items(thread_id, messages)
    packs.store_pack(thread_id, new.id, {each.id: packs.get_content(each) for each in messages})
    moved = 0
    for start in range(0, len(messages), MAX_MESSAGES_PER_TRANSACTION):
        moved += _point_messages(new, messages[start : start + MAX_MESSAGES_PER_TRANSACTION])
    run_check(check)
    return moved


def _create_items(thread_id: str, messages: list[Message]) -> tuple[Pack, PackCheck]:
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


def _point_messages(new: Pack, messages: list[Message]) -> int:
    """Points messages to a new pack, except those that were changed since they were read."""
    backoff = Backoff()
    pending = {message.id: message for message in messages}
    while pending:
        write = Transaction()
        write.update("pack", new, Change(add={"moves": 1}), Pack.pk.exists())
        for message in pending.values():
            change = Change(set={"archive_ref": new.id}, remove=packs.PACKED_FIELDS)
            write.update(message.id, message, change, _unchanged(message))
        try:
            write.commit()
            return len(pending)
        except TransactionCancelled as cancelled:
            if cancelled.failed("pack"):
                raise PackDeleted(new.id) from cancelled
            changed = [each for each in pending if cancelled.failed(each)]
            if not changed:
                backoff.wait()
            for message_id in changed:
                del pending[message_id]
    return 0


def _unchanged(message: Message) -> Condition:
    if message.archive_ref:
        # A change of the content restores the message to the table first.
        return Message.archive_ref == message.archive_ref
    return Message.archive_ref.does_not_exist() & (Message.rev == message.rev)


# --- Packs that may be outdated


def make_pack_check(thread_id: str, pack_id: str) -> PackCheck:
    """A check with an id of its own, so that completing one does not remove another."""
    shard = keys.archive_shard(thread_id)
    return PackCheck(
        keys.pack_check_pk(shard), keys.pack_check_sk(thread_id, pack_id, str(new_ulid()))
    )


def _add_check(thread_id: str, pack_id: str) -> PackCheck:
    check = make_pack_check(thread_id, pack_id)
    check.save()
    return check


def run_check(check: PackCheck) -> None:
    """Deletes a pack that no message refers to, and replaces one that contains other messages than
    those that refer to it. Idempotent."""
    check_location()
    thread_id, pack_id, _ = check.parts
    found = Pack.find(keys.thread_pk(thread_id), keys.pack_sk(pack_id))
    if found is None:
        packs.delete_pack(thread_id, pack_id)
    elif not _correct(found):
        return
    check.delete()


def _correct(found: Pack) -> bool:
    pointing = list_referencing_messages(found)
    if not pointing:
        # Fails if a message was pointed to the pack meanwhile.
        is_deleted = delete(found, Pack.moves == found.moves)
        if is_deleted:
            packs.delete_pack(found.thread_id, found.id)
        return is_deleted
    if len(pointing) != found.held:
        packs.load_contents(pointing)
        pack_messages(found.thread_id, pointing)
    return True


def list_referencing_messages(found: Pack) -> list[Message]:
    """The messages that refer to a pack, without their contents."""
    where = Item.sk.between(
        keys.message_sk(found.first_message_id), keys.message_sk(found.last_message_id)
    )
    items = query_all(found.pk, where, with_contents=False)
    return [item for item in items if isinstance(item, Message) and item.archive_ref == found.id]
