"""One attempt after the other until the line is stored, or refused."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

import structlog
from pynamodb.expressions.condition import Condition

from accounts.refusals import Refusal
from threads import state as states
from threads.models import Message, Participant, SentMarker, StartMarker, Thread, keys
from threads.models.changes import Cancelled, Transaction
from threads.models.store import StoreUnavailable
from threads.models.thread import LOCKED
from threads.state import ThreadState
from threads.writing.line import (
    Line,
    Roster,
    make_archive_due,
    make_former,
    make_marker,
    make_message,
    now_ms,
)
from threads.writing.rows import receiver_change, sender_change, thread_change

log = structlog.get_logger(__name__)

PATIENCE = 2.0
MOST_RACES = 100

Plan = Callable[[ThreadState], tuple[Line, Roster]]


@dataclass
class Appended:
    # As it was just after this line: whoever comes later is not told of it.
    state: ThreadState
    message: Message
    # False when an earlier request stored it: then everybody was told already.
    is_new: bool = True


def append(thread_id: str, plan: Plan) -> Appended:
    """Stores the line that `plan` makes of the thread as it is; asks again after a lost race."""
    with states.turn(thread_id):
        return _Attempts(thread_id, plan).run()


def find_stored(thread_id: str, line: Line) -> Message | None:
    """Asked before a refusal: nobody is told "refused" about something that was stored."""
    marker = SentMarker.find(keys.thread_pk(thread_id), line.marker_sk)
    if marker is None:
        return None
    if marker.hash != line.hash:
        raise Refusal("CLIENT_ID_REUSED")
    return _message_of(marker, line)


class _Attempts:
    def __init__(self, thread_id: str, plan: Plan) -> None:
        self.thread_id = thread_id
        self.plan = plan
        self.made: set[str] = set()
        self.deadline = time.monotonic() + PATIENCE

    def run(self) -> Appended:
        for _ in range(MOST_RACES):
            appended = self._once()
            if appended is not None:
                return appended
        raise Refusal("TRY_AGAIN")

    def _once(self) -> Appended | None:
        try:
            state, line, roster = self._prepare()
            transaction, message = build(state, line, roster)
            self.made.add(message.id)
            transaction.commit()
        except StoreUnavailable:
            # It may have been written. The marker will tell: the same again is safe.
            states.forget(self.thread_id)
            self._pause()
            return None
        except Cancelled as cancelled:
            return self._learn(state, line, cancelled)
        _settle(state, roster)
        states.remember(state)
        return Appended(state.copy(), message)

    def _prepare(self) -> tuple[ThreadState, Line, Roster]:
        """A refusal that rests on what we believe is given only after looking."""
        believed = states.known(self.thread_id)
        if believed is not None:
            try:
                return believed, *self.plan(believed)
            except Refusal:
                states.forget(self.thread_id)
        state = states.recall(self.thread_id)
        return state, *self.plan(state)

    def _learn(self, state: ThreadState, line: Line, cancelled: Cancelled) -> Appended | None:
        # The marker is judged before all others.
        if cancelled.failed("marker"):
            return self._stored_before(line, cancelled.current("marker", SentMarker))
        if any(r.code != "ConditionalCheckFailed" for r in cancelled.reasons.values()):
            log.info("send_conflict", thread=self.thread_id, reasons=str(cancelled))
            self._pause()
        else:
            _correct(state, cancelled)
        return None

    def _stored_before(self, line: Line, marker: SentMarker) -> Appended:
        if marker.hash != line.hash:
            raise Refusal("CLIENT_ID_REUSED")
        if marker.message_id not in self.made:
            state = states.recall(self.thread_id)
            return Appended(state, _message_of(marker, line), is_new=False)
        # Our own write, whose answer was lost on the way: nobody was told of it yet.
        states.forget(self.thread_id)
        message = Message.find(marker.pk, keys.message_sk(marker.message_id))
        return Appended(states.recall(self.thread_id), message or _message_of(marker, line))

    def _pause(self) -> None:
        if time.monotonic() > self.deadline:
            raise Refusal("TRY_AGAIN")
        time.sleep(random.uniform(0.005, 0.1))


def _message_of(marker: SentMarker, line: Line) -> Message:
    """What was stored under a marker, as far as an acknowledgement needs it."""
    return Message(
        marker.pk,
        keys.message_sk(marker.message_id),
        seq=marker.seq,
        client_id=line.client_id,
        author_id=line.author_id,
        type=line.type,
        body=line.body,
        created_at=keys.iso(keys.message_time(marker.message_id)),
    )


# --- The transaction


def build(state: ThreadState, line: Line, roster: Roster) -> tuple[Transaction, Message]:
    message_id = keys.next_message_id(state.thread.last_message_id, now_ms())
    message = make_message(state, line, message_id)
    write = Transaction()
    write.put("message", message)
    write.put("marker", make_marker(message, line), unused(SentMarker))
    write.update("thread", state.thread, thread_change(state, line, message, roster), _as_is(state))
    for person in state.people.values():
        if person.user_id not in roster.leaving_ids:
            _update_person(write, state, person, line, message)
    _move_people(write, roster)
    if message.created_at[:10] != state.thread.last_message_at[:10]:
        write.put("archive", make_archive_due(message))
    return write, message


def unused(kind: type[SentMarker] | type[StartMarker]) -> Condition:
    return kind.pk.does_not_exist() | (kind.ttl < int(time.time()))


def _update_person(
    write: Transaction, state: ThreadState, person: Participant, line: Line, message: Message
) -> None:
    # The index key depends on folder and pin. Of an item that is not there neither holds.
    condition = (Participant.folder == person.folder) & (Participant.pinned == person.pinned)
    if person.user_id == line.author_id:
        change = sender_change(state, person, line, message)
        condition &= _may_write(state)
    else:
        change = receiver_change(person, line, message)
    write.update(person.sk, person, change, condition)


def _move_people(write: Transaction, roster: Roster) -> None:
    for person in roster.leaving:
        write.delete(f"leaving {person.user_id}", person, Participant.pk.exists())
        write.put(f"former {person.user_id}", make_former(person))
    for item in roster.belongings:
        write.delete(f"belonging {item.sk}", item)
    for person in roster.joining:
        write.put(f"joining {person.user_id}", person, Participant.pk.does_not_exist())


def _as_is(state: ThreadState) -> Condition:
    thread = state.thread
    return (
        (Thread.last_seq == thread.last_seq)
        & (Thread.last_message_id == thread.last_message_id)
        & (Thread.roster_version == thread.roster_version)
        & (Thread.status != LOCKED)
        & Thread.soft_block.does_not_exist()
    )


def _may_write(state: ThreadState) -> Condition:
    now = keys.iso(keys.moment_of_ms(now_ms()))
    allowed = Participant.blocked_until.does_not_exist() | (Participant.blocked_until <= now)
    if state.is_group:
        # A block between two of many does not silence them in front of the others.
        return allowed
    return allowed & Participant.blocked_by.does_not_exist()


# --- After a lost race, and after a won one


def _correct(state: ThreadState, cancelled: Cancelled) -> None:
    """Takes what the store has for what we believed; where that is not enough, forgets it all."""
    for name in cancelled.reasons:
        if name == "thread":
            _correct_thread(state, cancelled.current(name, Thread))
        elif name.startswith(keys.PARTICIPANTS):
            _correct_person(state, cancelled.current(name, Participant))
        else:
            states.forget(state.thread.id)


def _correct_thread(state: ThreadState, thread: Thread | None) -> None:
    if thread is None or thread.roster_version != state.thread.roster_version:
        states.forget(state.thread.id)
        return
    state.cursors_are_stale |= thread.last_seq != state.thread.last_seq
    state.thread = thread


def _correct_person(state: ThreadState, person: Participant | None) -> None:
    if person is None:
        states.forget(state.thread.id)
        return
    state.people[person.user_id] = person


def _settle(state: ThreadState, roster: Roster) -> None:
    for person in roster.leaving:
        del state.people[person.user_id]
        state.former[person.user_id] = person.person
    for person in roster.joining:
        state.people[person.user_id] = person
