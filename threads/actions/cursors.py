"""What has been delivered and read: cursors that move forward only, and never beyond what is."""

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

WINDOW = 1000


class CursorPosition(NamedTuple):
    """Where a client says that it has got to."""

    thread_id: str
    message_id: str
    seq: int
    tally: int


# From one's own item, and that message with what came after it: what moves, if anything does.
Earlier = Callable[[Participant, list[Message], CursorPosition], Change | None]

NO_UNREAD = ("unread_pk", "unread_sk")
NO_PENDING = ("first_undelivered_seq", "first_undelivered_message_id", "pending_pk", "pending_sk")


def mark_read(user: User, *, thread_id: str, message_id: str, seq: int, tally: int) -> None:
    """Everything up to that message was seen. `seq` and `tally` are checked, never believed."""
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
    """Said of a whole conversation, from the list. The row as it was, if anything was unread."""
    pk = keys.thread_pk(thread_id)
    found = get_many([(pk, keys.participant_sk(user.id)), (pk, keys.THREAD)])
    match sorted(found, key=lambda item: item.sk):
        case [Participant() as person, Thread() as thread]:
            place = thread.last_message_id, thread.last_seq, thread.last_tally
        case _:
            raise Refusal("THREAD_NOT_FOUND")
    if not person.has_unread:
        return None
    message_id, seq, tally = place
    mark_read(user, thread_id=thread_id, message_id=message_id, seq=seq, tally=tally)
    return person


def mark_delivered(user: User, *, thread_id: str, message_id: str, seq: int, tally: int) -> None:
    """A device has it. The pending row goes only when there is nothing newer."""
    newest = Change(set={"delivered_seq": seq}, remove=NO_PENDING)
    _move(user, CursorPosition(thread_id, message_id, seq, tally), newest, _delivered_earlier)


def _move(user: User, place: CursorPosition, newest: Change, earlier: Earlier) -> None:
    """One update if it is the newest message; otherwise one looks, then moves."""
    person = Participant(keys.thread_pk(place.thread_id), keys.participant_sk(user.id))
    moved = None
    if not _is_known_to_be_earlier(user, place):
        moved = _update(person, newest, _is_newest(place))
    backoff = Backoff()
    while True:
        if moved is not None:
            _tell(user, moved)
            return
        current, after = _look(person, place)
        change = earlier(current, after, place)
        moved = _update(person, change, _as_read(current)) if change else current
        if moved is None:
            # Another process changes the row faster than this one reads it.
            backoff.wait()


def _is_known_to_be_earlier(user: User, place: CursorPosition) -> bool:
    """Then trying the newest would be in vain. Of a stranger nothing is known."""
    believed = cache.peek(place.thread_id)
    if believed is None or user.id not in believed.people:
        return False
    return place.seq < believed.thread.last_seq


def _is_newest(place: CursorPosition) -> Condition:
    return (
        (Participant.last_seq == place.seq)
        & (Participant.last_tally == place.tally)
        & (Participant.last_message_at == keys.message_created_at(place.message_id))
    )


def _read_earlier(
    current: Participant, after: list[Message], place: CursorPosition
) -> Change | None:
    if place.seq < current.last_read_seq:
        return None
    message = _checked(current, after, place)
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
        _take_delivery(change, current, after)
    if message.tally + own == current.last_tally:
        change.remove += NO_UNREAD
    return change


def _delivered_earlier(
    current: Participant, after: list[Message], place: CursorPosition
) -> Change | None:
    if place.seq <= current.delivered_seq:
        return None
    _checked(current, after, place)
    change = Change()
    _take_delivery(change, current, after)
    return change


def _take_delivery(change: Change, current: Participant, after: list[Message]) -> None:
    """What is still pending begins after it; the row goes only when nothing is."""
    message = after[0]
    change.set["delivered_seq"] = message.seq
    if message.seq == current.last_seq:
        change.remove += NO_PENDING
    elif current.first_undelivered_seq and current.first_undelivered_seq <= message.seq:
        change.set["first_undelivered_seq"] = after[1].seq
        change.set["first_undelivered_message_id"] = after[1].id


def _checked(current: Participant, after: list[Message], place: CursorPosition) -> Message:
    message = after[0] if after else None
    if message is None or (message.id, message.seq, message.tally) != place[1:]:
        raise Refusal("BAD_FRAME")
    if message.seq < current.visible_from_seq:
        raise Refusal("BAD_FRAME")
    return message


def _as_read(current: Participant) -> Condition:
    return (
        (Participant.last_seq == current.last_seq)
        & (Participant.last_read_seq == current.last_read_seq)
        & (Participant.delivered_seq == current.delivered_seq)
    )


def _look(person: Participant, place: CursorPosition) -> tuple[Participant, list[Message]]:
    """One's own item, and that message with what came after it: one Query, if not far back."""
    where = Item.sk.between(keys.message_sk(place.message_id), person.sk)
    page = query(person.pk, where, limit=WINDOW, newest_first=True, whole=False)
    mine = [item for item in page.of(Participant) if item.sk == person.sk]
    if not mine:
        raise Refusal("THREAD_NOT_FOUND")
    messages = page.of(Message)
    # Not below what is claimed, and not at all below what was read: an id from long ago must not
    # make us read the whole thread.
    is_behind = place.seq < mine[0].last_read_seq
    while page.next_key and not is_behind and messages[-1].seq > place.seq:
        page = query(
            person.pk, where, limit=WINDOW, newest_first=True, after=page.next_key, whole=False
        )
        messages += page.of(Message)
    return mine[0], messages[::-1]


def _update(person: Participant, change: Change, condition: Condition) -> Participant | None:
    """None if the condition did not hold, whatever the reason."""
    if not update(person, change, condition):
        return None
    cache.update_participant(person)
    return person


def _tell(user: User, person: Participant) -> None:
    cached = cache.get(person.thread_id)
    if cached.thread.last_seq < person.last_seq:
        # Another process wrote here: whoever it removed must not hear of this.
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
    # Nothing passes between two who blocked each other, nor before a request is accepted.
    hides_activity = person.hides_activity and not cached.is_group
    publish(moved, to=[user.id] if hides_activity else list(cached.people))
    publish(full_inbox_changed(person), to=[user.id])


def _now() -> str:
    return keys.iso(keys.datetime_from_ms(now_ms()))
