"""The transaction that a line becomes: what it writes, and on which conditions."""

import time
from dataclasses import dataclass, field

from pynamodb.expressions.condition import Condition

from threads import cache as states
from threads.cache import ThreadState
from threads.dynamodb import keys
from threads.dynamodb.change import Change
from threads.dynamodb.conditions import Where
from threads.dynamodb.transactions import Transaction
from threads.models import Invitation, Message, Pair, Participant, SentMarker, StartMarker, Thread
from threads.models.participant import ARCHIVED_FOLDER
from threads.models.thread import LOCKED
from threads.sending.new_message import (
    Line,
    Roster,
    make_archive_due,
    make_former,
    make_left,
    make_marker,
    make_message,
    make_thread_of_pair,
    now_ms,
)
from threads.sending.pending_actions import change_items, waits_after
from threads.sending.rows import (
    answering,
    company_change,
    has_read_as,
    receiver_change,
    sender_change,
    thread_change,
)


@dataclass
class Attempt:
    """A line on its way, and what it changes of what we believe once it is stored."""

    state: ThreadState
    line: Line
    roster: Roster
    message: Message
    write: Transaction = field(default_factory=Transaction)
    thread_change: Change = field(default_factory=Change)
    changes: dict[str, Change] = field(default_factory=dict)

    def commit(self) -> None:
        self.write.commit()
        with states.changing:
            self.thread_change.apply(self.state.thread)
            for user_id, change in self.changes.items():
                person = self.state.people[user_id]
                # A cursor that moved just now may have brought this line along from the store.
                if person.last_seq < self.message.seq:
                    change.apply(person)
            self._move_people()

    def _move_people(self) -> None:
        for person in self.roster.leaving:
            del self.state.people[person.user_id]
            self.state.former[person.user_id] = person.person
        for person in self.roster.joining:
            self.state.people[person.user_id] = person
        for invitation in self.roster.uninviting:
            self.state.invited.pop(invitation.user_id, None)
        for invitation in self.roster.inviting:
            self.state.invited[invitation.user_id] = invitation


def build(state: ThreadState, line: Line, roster: Roster) -> Attempt:
    message_id = keys.next_message_id(state.thread.last_message_id, now_ms())
    attempt = Attempt(state, line, roster, make_message(state, line, message_id, roster))
    write, message = attempt.write, attempt.message
    write.put("message", message)
    write.put("marker", make_marker(message, line), unused(SentMarker))
    attempt.thread_change = thread_change(state, line, message, roster)
    write.update("thread", state.thread, attempt.thread_change, _as_planned(state, line))
    for person in state.people.values():
        if person.user_id not in roster.leaving_ids:
            _update_person(attempt, person)
    _move_people(attempt)
    _move_invitations(attempt)
    _bind_pair(attempt)
    if message.created_at[:10] != state.thread.last_message_at[:10]:
        write.put("archive", make_archive_due(message))
    change_items(write, state, waits_after(state.thread, line, message.id, roster), roster)
    if line.also:
        line.also(write, message)
    return attempt


def _as_planned(state: ThreadState, line: Line) -> Condition:
    """A line that changes something besides takes the thread's next revision, and it alone."""
    condition = as_known(state) if line.by_staff else as_is(state)
    if "rev" in line.of_thread:
        return condition & (Thread.rev == line.of_thread["rev"] - 1)
    return condition


def unused(kind: type[SentMarker] | type[StartMarker]) -> Condition:
    return Where(kind).free(ttl=int(time.time()))


def _update_person(attempt: Attempt, person: Participant) -> None:
    line = attempt.line
    writes = not line.by_staff and person.user_id in (line.author_id, line.actor_id)
    change = change_of(attempt.state, person, line, attempt.message, attempt.roster)
    attempt.changes[person.user_id] = change
    despite_hold = line.despite_hold
    condition = condition_of(attempt.state, person, writes=writes, despite_hold=despite_hold)
    attempt.write.update(person.sk, person, change, condition)


def change_of(
    state: ThreadState, person: Participant, line: Line, message: Message, roster: Roster
) -> Change:
    """What a line changes of somebody's item."""
    if person.user_id == line.author_id:
        change = sender_change(state, person, line, message)
    else:
        change = receiver_change(person, line, message)
    company = company_change(state, person, roster)
    waits = waits_after(state.thread, line, message.id, roster)
    change.set |= company.set | answering(state.thread, line, waits, person.user_id)
    change.remove += company.remove
    return change


def condition_of(
    state: ThreadState, person: Participant, *, writes: bool, despite_hold: bool = False
) -> Condition:
    # The index key depends on folder and pin. Of an item that is not there neither holds.
    condition: Condition = Where(Participant).equal(folder=person.folder, pinned=person.pinned)
    if person.folder == ARCHIVED_FOLDER:
        # Whether it comes back as unread depends on what they have read.
        condition &= has_read_as(person)
    if writes:
        condition &= may_write(state, despite_hold=despite_hold)
    return condition


def _move_people(attempt: Attempt) -> None:
    write, roster = attempt.write, attempt.roster
    for person in roster.leaving:
        write.delete(f"leaving {person.user_id}", person, Participant.pk.exists())
        write.put(f"former {person.user_id}", make_former(person, has_left=roster.is_by_choice))
        write.put(f"left {person.user_id}", make_left(person, attempt.message.created_at))
    for item in roster.belongings:
        write.delete(f"belonging {item.sk}", item)
    for person in roster.joining:
        # Their row shows the line with which they came, and nothing from before it.
        receiver_change(person, attempt.line, attempt.message).apply(person)
        company_change(attempt.state, person, roster).apply(person)
        write.put(f"joining {person.user_id}", person, Participant.pk.does_not_exist())


def _move_invitations(attempt: Attempt) -> None:
    write, roster = attempt.write, attempt.roster
    replaced = {invitation.user_id for invitation in roster.inviting}
    for invitation in roster.uninviting:
        if invitation.user_id not in replaced:
            write.delete(f"uninviting {invitation.user_id}", invitation, Invitation.pk.exists())
    for invitation in roster.inviting:
        _as_invited(attempt, invitation)
        write.put(f"inviting {invitation.user_id}", invitation)
        # Whether they come or not, the line names them.
        left = make_left(invitation, attempt.message.created_at)
        write.put(f"left {invitation.user_id}", left)


def _as_invited(attempt: Attempt, invitation: Invitation) -> None:
    """The row shows the line that says they were invited, and nothing from before it."""
    invitation.last_seq, invitation.last_tally = attempt.message.seq, attempt.message.tally
    invitation.last_message_at = attempt.message.created_at
    invitation.inbox_sk = keys.inbox_sk(
        attempt.message.created_at, invitation.thread_id, pinned=False
    )


def _bind_pair(attempt: Attempt) -> None:
    """Two who are left by themselves are reached by a block, whoever began the thread."""
    pair, accepted = attempt.roster.pair, attempt.roster.accepts
    if accepted is not None:
        change = Change(set={"accepted": True}, remove=("requested_by", "requested_at"))
        attempt.write.update("accepted pair", accepted, change, Pair.blocked_by.does_not_exist())
    if pair is None:
        return
    if accepted is None or accepted.pk != pair.pk:
        blocked_by = Pair.blocked_by
        as_read = blocked_by == pair.blocked_by if pair.blocked_by else blocked_by.does_not_exist()
        attempt.write.check("pair", pair, as_read)
    attempt.write.put("pair thread", make_thread_of_pair(pair.pk, attempt.state.thread))


def as_is(state: ThreadState) -> Condition:
    """Nothing was appended since, and the thread is neither locked nor on hold."""
    return as_known(state).differ(status=LOCKED).absent("soft_block")


def as_known(state: ThreadState) -> Where:
    thread = state.thread
    known = {
        "last_seq": thread.last_seq,
        "last_message_id": thread.last_message_id,
        "roster_version": thread.roster_version,
    }
    return Where(Thread).equal(**known)


def may_write(state: ThreadState, *, despite_hold: bool = False) -> Condition:
    now = keys.iso(keys.moment_of_ms(now_ms()))
    allowed = Where(Participant).over(blocked_until=now).absent("request_state")
    if not despite_hold:
        allowed = allowed.absent("sending_hold")
    if state.is_group:
        # A block between two of many does not silence them in front of the others.
        return allowed
    return allowed.absent("blocked_by")
