"""Delivery and read cursors. They only move forward, and never past the newest message."""

from collections.abc import Callable
from typing import NamedTuple

from pynamodb.expressions.condition import Condition

from accounts.models import User
from core.refusals import Refusal
from realtime.broadcast.delivery import publish
from realtime.broadcast.events import CursorMoved
from threads import cache
from threads.dynamodb import keys
from threads.dynamodb.change import Change
from threads.dynamodb.retry import Backoff
from threads.dynamodb.table import Item, get_many, query
from threads.dynamodb.transactions import update
from threads.events import full_inbox_changed
from threads.models import Message, Participant, Thread
from threads.sending.new_message import now_ms
from threads.sending.rows import CAUGHT_UP_REMOVED_FIELDS

WINDOW_PAGE_SIZE = 1000


class CursorPosition(NamedTuple):
    """How far a client claims to have got. Checked against the store before it is used."""

    thread_id: str
    message_id: str
    seq: int
    tally: int


# Computes the change for a message that is not the newest, from the participant's item and the
# messages from that one on; None if the cursor is already there or further.
EarlierChange = Callable[[Participant, list[Message], CursorPosition], Change | None]

UNREAD_FIELDS = ("unread_pk", "unread_sk")
UNDELIVERED_FIELDS = (
    "first_undelivered_seq",
    "first_undelivered_message_id",
    "pending_pk",
    "pending_sk",
)


def mark_read(user: User, *, thread_id: str, message_id: str, seq: int, tally: int) -> None:
    """Marks everything up to a message as read. `seq` and `tally` are conditions of the write."""
    newest = Change(
        set={
            "last_read_seq": seq,
            "last_read_message_id": message_id,
            "last_read_tally": tally,
            "last_read_at": _now(),
            "delivered_seq": seq,
            "own_since_read": 0,
        },
        remove=CAUGHT_UP_REMOVED_FIELDS,
    )
    _move(user, CursorPosition(thread_id, message_id, seq, tally), newest, _read_earlier)


def mark_all_read(user: User, *, thread_id: str) -> Participant | None:
    """Returns the row as it was before, or None if nothing was unread."""
    pk = keys.thread_pk(thread_id)
    found = get_many([(pk, keys.participant_sk(user.id)), (pk, keys.THREAD)])
    match sorted(found, key=lambda item: item.sk):
        case [Participant() as person, Thread() as thread]:
            newest = thread.last_message_id, thread.last_seq, thread.last_tally
        case _:
            raise Refusal("THREAD_NOT_FOUND")
    if not person.has_unread:
        return None
    message_id, seq, tally = newest
    mark_read(user, thread_id=thread_id, message_id=message_id, seq=seq, tally=tally)
    return person


def mark_delivered(user: User, *, thread_id: str, message_id: str, seq: int, tally: int) -> None:
    """The item stays in the index of undelivered messages while there is a newer message."""
    newest = Change(set={"delivered_seq": seq}, remove=UNDELIVERED_FIELDS)
    _move(user, CursorPosition(thread_id, message_id, seq, tally), newest, _delivered_earlier)


def _move(user: User, position: CursorPosition, newest: Change, earlier: EarlierChange) -> None:
    """Makes one update for the newest message; for an earlier one a read, then the update."""
    person = Participant(keys.thread_pk(position.thread_id), keys.participant_sk(user.id))
    moved = None
    if not _is_cached_as_earlier(user, position):
        moved = _update(person, newest, _is_newest(position))
    backoff = Backoff()
    while True:
        if moved is not None:
            _publish(user, moved)
            return
        current, after = _read(person, position)
        change = earlier(current, after, position)
        moved = _update(person, change, _cursors_unchanged(current)) if change else current
        if moved is None:
            # Another process changes the row faster than this one reads it.
            backoff.wait()


def _is_cached_as_earlier(user: User, position: CursorPosition) -> bool:
    """Saves an update that would fail. False for a user who is not a cached participant."""
    cached = cache.peek(position.thread_id)
    if cached is None or user.id not in cached.people:
        return False
    return position.seq < cached.thread.last_seq


def _is_newest(position: CursorPosition) -> Condition:
    return (
        (Participant.last_seq == position.seq)
        & (Participant.last_tally == position.tally)
        & (Participant.last_message_at == keys.message_created_at(position.message_id))
    )


def _read_earlier(
    current: Participant, after: list[Message], position: CursorPosition
) -> Change | None:
    if position.seq < current.last_read_seq:
        return None
    message = _check_position(current, after, position)
    own = sum(later.author_id == current.user_id for later in after[1:])
    change = Change(
        set={
            "last_read_seq": message.seq,
            "last_read_message_id": message.id,
            "last_read_tally": message.tally,
            "last_read_at": _now(),
            "own_since_read": own,
        },
        remove=("marked_unread",),
    )
    if message.seq > current.delivered_seq:
        _move_delivered(change, current, after)
    if message.tally + own == current.last_tally:
        change.remove += UNREAD_FIELDS
    return change


def _delivered_earlier(
    current: Participant, after: list[Message], position: CursorPosition
) -> Change | None:
    if position.seq <= current.delivered_seq:
        return None
    _check_position(current, after, position)
    change = Change()
    _move_delivered(change, current, after)
    return change


def _move_delivered(change: Change, current: Participant, after: list[Message]) -> None:
    """Moves the first undelivered message behind this one, or clears it at the newest."""
    message = after[0]
    change.set["delivered_seq"] = message.seq
    if message.seq == current.last_seq:
        change.remove += UNDELIVERED_FIELDS
    elif current.first_undelivered_seq and current.first_undelivered_seq <= message.seq:
        change.set["first_undelivered_seq"] = after[1].seq
        change.set["first_undelivered_message_id"] = after[1].id


def _check_position(
    current: Participant, after: list[Message], position: CursorPosition
) -> Message:
    message = after[0] if after else None
    if message is None or (message.id, message.seq, message.tally) != position[1:]:
        raise Refusal("BAD_FRAME")
    if message.seq < current.visible_from_seq:
        raise Refusal("BAD_FRAME")
    return message


def _cursors_unchanged(current: Participant) -> Condition:
    return (
        (Participant.last_seq == current.last_seq)
        & (Participant.last_read_seq == current.last_read_seq)
        & (Participant.delivered_seq == current.delivered_seq)
    )


def _read(person: Participant, position: CursorPosition) -> tuple[Participant, list[Message]]:
    """The user's own item and the messages from the given one on: one Query, if they fit in it."""
    where = Item.sk.between(keys.message_sk(position.message_id), person.sk)
    page = query(person.pk, where, limit=WINDOW_PAGE_SIZE, newest_first=True, with_contents=False)
    mine = [item for item in page.of(Participant) if item.sk == person.sk]
    if not mine:
        raise Refusal("THREAD_NOT_FOUND")
    messages = page.of(Message)
    # Stops at the claimed message, and reads no further page for one before the read cursor: the
    # id of an old message must not cause a read of the whole thread.
    is_behind = position.seq < mine[0].last_read_seq
    while page.next_key and not is_behind and messages[-1].seq > position.seq:
        page = query(
            person.pk,
            where,
            limit=WINDOW_PAGE_SIZE,
            newest_first=True,
            after=page.next_key,
            with_contents=False,
        )
        messages += page.of(Message)
    return mine[0], messages[::-1]


def _update(person: Participant, change: Change, condition: Condition) -> Participant | None:
    """None if the condition failed."""
    if not update(person, change, condition):
        return None
    cache.update_participant(person)
    return person


def _publish(user: User, person: Participant) -> None:
    cached = cache.get(person.thread_id)
    if cached.thread.last_seq < person.last_seq:
        # Another process wrote here; it may have removed participants, who must not get the event.
        cached = cache.reload(person.thread_id)
    moved = CursorMoved(
        type="cursor.moved",
        thread=person.thread_id,
        user=user.id,
        delivered_seq=person.delivered_seq,
        read_seq=person.last_read_seq,
        read_tally=person.last_read_tally,
        own_since_read=person.own_since_read,
    )
    # Activity is hidden after a block and before a request is accepted.
    hides_activity = person.hides_activity and not cached.is_group
    publish(moved, to=[user.id] if hides_activity else list(cached.people))
    publish(full_inbox_changed(person), to=[user.id])


def _now() -> str:
    return keys.iso(keys.datetime_from_ms(now_ms()))
