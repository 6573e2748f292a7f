"""What has been delivered and read: cursors that move forward only, and never beyond what is."""

from pynamodb.exceptions import UpdateError
from pynamodb.expressions.condition import Condition

from accounts.models import User
from accounts.refusals import Refusal
from realtime.delivery import deliver
from realtime.events import CursorMoved
from threads import state as states
from threads.models import Message, Participant, keys
from threads.models.changes import Change
from threads.models.table import Item, Page, query
from threads.telling import inbox_changed
from threads.writing.line import now_ms
from threads.writing.rows import CAUGHT_UP

MOST_RACES = 10
WINDOW = 1000

NO_UNREAD = ("marked_unread", "unread_pk", "unread_sk")
NO_PENDING = ("first_undelivered_seq", "first_undelivered_message_id", "pending_pk", "pending_sk")


def mark_read(user: User, *, thread_id: str, message_id: str, seq: int, tally: int) -> None:
    """Everything up to that message was seen. `seq` and `tally` are checked, never believed."""
    person = Participant(keys.thread_pk(thread_id), keys.participant_sk(user.id))
    newest = _at_newest(message_id, seq, tally)
    moved = _update(person, newest, _is_newest(message_id, seq, tally))
    for _ in range(MOST_RACES):
        if moved is not None:
            _tell(user, moved)
            return
        moved = _read_earlier(user, person, message_id, seq, tally)
    raise Refusal("TRY_AGAIN")


def _at_newest(message_id: str, seq: int, tally: int) -> Change:
    return Change(
        set={
            "last_read_seq": seq,
            "last_read_message_id": message_id,
            "last_read_tally": tally,
            "last_read_at": _now(),
            "delivered_seq": seq,
            "own_since_read": 0,
        },
        remove=CAUGHT_UP,
    )


def _is_newest(message_id: str, seq: int, tally: int) -> Condition:
    at = keys.iso(keys.message_time(message_id))
    return (
        (Participant.last_seq == seq)
        & (Participant.last_tally == tally)
        & (Participant.last_message_at == at)
    )


def _read_earlier(
    user: User, person: Participant, message_id: str, seq: int, tally: int
) -> Participant | None:
    """Somebody wrote in between, or an earlier place was meant: look, then move."""
    current, after = _from(user, person, message_id)
    message = after[0]
    if (message.seq, message.tally) != (seq, tally):
        raise Refusal("BAD_FRAME")
    if message.seq < current.last_read_seq:
        return current
    own = sum(later.author_id == user.id for later in after[1:])
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
        change.set["delivered_seq"] = message.seq
    if message.tally + own == current.last_tally:
        change.remove = NO_UNREAD
    if message.seq == current.last_seq:
        change.remove = CAUGHT_UP
    as_read = (Participant.last_seq == current.last_seq) & (
        Participant.last_read_seq == current.last_read_seq
    )
    return _update(person, change, as_read)


def mark_delivered(user: User, *, thread_id: str, message_id: str, seq: int, tally: int) -> None:
    """A device has it. The pending row goes only when there is nothing newer."""
    person = Participant(keys.thread_pk(thread_id), keys.participant_sk(user.id))
    change = Change(set={"delivered_seq": seq}, remove=NO_PENDING)
    moved = _update(person, change, _is_newest(message_id, seq, tally))
    for _ in range(MOST_RACES):
        if moved is not None:
            _tell(user, moved)
            return
        moved = _delivered_earlier(user, person, message_id, seq, tally)
    raise Refusal("TRY_AGAIN")


def _delivered_earlier(
    user: User, person: Participant, message_id: str, seq: int, tally: int
) -> Participant | None:
    current, after = _from(user, person, message_id)
    message = after[0]
    if (message.seq, message.tally) != (seq, tally):
        raise Refusal("BAD_FRAME")
    if message.seq <= current.delivered_seq:
        return current
    change = Change(set={"delivered_seq": message.seq})
    if message.seq == current.last_seq:
        change.remove = NO_PENDING
    elif len(after) > 1:
        change.set["first_undelivered_seq"] = after[1].seq
        change.set["first_undelivered_message_id"] = after[1].id
    as_read = (Participant.last_seq == current.last_seq) & (
        Participant.delivered_seq == current.delivered_seq
    )
    return _update(person, change, as_read)


def _from(user: User, person: Participant, message_id: str) -> tuple[Participant, list[Message]]:
    """That message and what came after it, with one's own item: one Query, if not far back."""
    page = _read_down_to(person, message_id)
    mine = [item for item in page.of(Participant) if item.user_id == user.id]
    if not mine:
        raise Refusal("THREAD_NOT_FOUND")
    messages = page.of(Message)[::-1]
    if not messages or messages[0].id != message_id or messages[0].seq < mine[0].visible_from_seq:
        raise Refusal("BAD_FRAME")
    return mine[0], messages


def _read_down_to(person: Participant, message_id: str) -> Page:
    where = Item.sk.between(keys.message_sk(message_id), person.sk)
    page = query(person.pk, where, limit=WINDOW, newest_first=True)
    while page.next_key:
        rest = query(person.pk, where, limit=WINDOW, newest_first=True, after=page.next_key)
        page = Page(page.items + rest.items, rest.next_key)
    return page


def _update(person: Participant, change: Change, condition: Condition) -> Participant | None:
    """None if the condition did not hold, whatever the reason."""
    try:
        person.update(change.actions(Participant), condition=condition)
    except UpdateError as error:
        if error.cause_response_code != "ConditionalCheckFailedException":
            raise
        return None
    states.note(person, change)
    return person


def _tell(user: User, person: Participant) -> None:
    state = states.recall(person.thread_id)
    moved = CursorMoved(
        type="cursor.moved",
        thread=person.thread_id,
        user=user.id,
        delivered_seq=person.delivered_seq,
        read_seq=person.last_read_seq,
    )
    deliver(moved, to=list(state.people))
    deliver(inbox_changed(person, unread=person.unread), to=[user.id])


def _now() -> str:
    return keys.iso(keys.moment_of_ms(now_ms()))
