"""The transaction of a new message: its writes and their conditions."""

import time
from dataclasses import dataclass, field

from pynamodb.expressions.condition import Condition

from threads import cache
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.dynamodb.change import Change
from threads.dynamodb.conditions import ConditionBuilder
from threads.dynamodb.transactions import Transaction
from threads.models import Invitation, Message, Pair, Participant, SentMarker, StartMarker, Thread
from threads.models.participant import ARCHIVED_FOLDER
from threads.models.thread import LOCKED
from threads.sending.new_message import (
    NewMessage,
    RosterChange,
    make_archive_due,
    make_former_participant,
    make_left_thread,
    make_marker,
    make_message,
    make_thread_of_pair,
    now_ms,
)
from threads.sending.pending_actions import pending_after, update_pending_items
from threads.sending.rows import (
    is_current,
    read_cursor_unchanged,
    receiver_change,
    roster_count_change,
    row_waiting_change,
    sender_change,
    thread_change,
)


@dataclass
class Attempt:
    """An attempt to store a message, and the changes of the cached thread once it is stored."""

    cached: CachedThread
    new_message: NewMessage
    roster: RosterChange
    message: Message
    write: Transaction = field(default_factory=Transaction)
    thread_change: Change = field(default_factory=Change)
    changes: dict[str, Change] = field(default_factory=dict)

    def commit(self) -> None:
        self.write.commit()
        with cache.update_lock:
            self.thread_change.apply(self.cached.thread)
            for user_id, change in self.changes.items():
                person = self.cached.people[user_id]
                # A concurrent cursor update may have loaded an item that has this message.
                if person.last_seq < self.message.seq:
                    change.apply(person)
            self.cached.sends.record(self.message)
            self._apply_roster()

    def _apply_roster(self) -> None:
        for person in self.roster.leaving:
            del self.cached.people[person.user_id]
            self.cached.former[person.user_id] = person.person
        for person in self.roster.joining:
            self.cached.people[person.user_id] = person
        for invitation in self.roster.uninviting:
            self.cached.invited.pop(invitation.user_id, None)
        for invitation in self.roster.inviting:
            self.cached.invited[invitation.user_id] = invitation


def build_attempt(cached: CachedThread, new_message: NewMessage, roster: RosterChange) -> Attempt:
    message_id = keys.next_message_id(cached.thread.last_message_id, now_ms())
    attempt = Attempt(
        cached, new_message, roster, make_message(cached, new_message, message_id, roster)
    )
    write, message = attempt.write, attempt.message
    write.put("message", message)
    if new_message.has_marker:
        write.put("marker", make_marker(message, new_message), is_unused(SentMarker))
    attempt.thread_change = thread_change(cached, new_message, message, roster)
    write.update(
        "thread", cached.thread, attempt.thread_change, _thread_condition(cached, new_message)
    )
    for person in cached.people.values():
        if person.user_id not in roster.leaving_ids:
            _update_participant(attempt, person)
    _write_roster(attempt)
    _write_invitations(attempt)
    _write_pair(attempt)
    if message.created_at[:10] != cached.thread.last_message_at[:10]:
        write.put("archive", make_archive_due(message))
    update_pending_items(
        write, cached, pending_after(cached.thread, new_message, message.id, roster), roster
    )
    if new_message.extra_writes:
        new_message.extra_writes(write, message)
    return attempt


def _thread_condition(cached: CachedThread, new_message: NewMessage) -> Condition:
    """A message that changes the thread, too, must be the only one with its revision."""
    condition = (
        thread_version_unchanged(cached) if new_message.by_staff else thread_unchanged(cached)
    )
    if "rev" in new_message.thread_changes:
        return condition & (Thread.rev == new_message.thread_changes["rev"] - 1)
    return condition


def is_unused(kind: type[SentMarker] | type[StartMarker]) -> Condition:
    return ConditionBuilder(kind).free(ttl=int(time.time()))


def _update_participant(attempt: Attempt, person: Participant) -> None:
    new_message = attempt.new_message
    sends = not new_message.by_staff and person.user_id in (
        new_message.author_id,
        new_message.actor_id,
    )
    change = participant_change(
        attempt.cached, person, new_message, attempt.message, attempt.roster
    )
    attempt.changes[person.user_id] = change
    despite_hold = new_message.despite_hold
    condition = participant_condition(
        attempt.cached, person, sends=sends, despite_hold=despite_hold
    )
    attempt.write.update(person.sk, person, change, condition)


def participant_change(
    cached: CachedThread,
    person: Participant,
    new_message: NewMessage,
    message: Message,
    roster: RosterChange,
) -> Change:
    """The change of a participant's item by a new message."""
    if person.user_id == new_message.author_id:
        change = sender_change(cached, person, new_message, message)
    else:
        change = receiver_change(person, new_message, message)
    company = roster_count_change(cached, person, roster)
    waits = pending_after(cached.thread, new_message, message.id, roster)
    waiting = row_waiting_change(cached.thread, new_message, waits, person.user_id)
    if waiting.get("waits_on") != person.waits_on or not is_current(cached, person):
        change.set |= waiting
    change.set |= company.set
    change.remove += company.remove
    return change


def participant_condition(
    cached: CachedThread, person: Participant, *, sends: bool, despite_hold: bool = False
) -> Condition:
    # The index key depends on folder and pin. For a missing item neither condition holds.
    condition: Condition = ConditionBuilder(Participant).equal(
        folder=person.folder, pinned=person.pinned
    )
    if person.folder == ARCHIVED_FOLDER:
        # Whether the thread returns as unread depends on the read cursor.
        condition &= read_cursor_unchanged(person)
    if sends:
        condition &= can_write(cached, despite_hold=despite_hold)
        if is_current(cached, person) and not person.marked_unread:
            condition &= ConditionBuilder(Participant).absent("marked_unread")
    return condition


def _write_roster(attempt: Attempt) -> None:
    write, roster = attempt.write, attempt.roster
    for person in roster.leaving:
        write.delete(f"leaving {person.user_id}", person, Participant.pk.exists())
        write.put(
            f"former {person.user_id}",
            make_former_participant(person, has_left=roster.is_by_choice),
        )
        write.put(f"left {person.user_id}", make_left_thread(person, attempt.message.created_at))
    for item in roster.owned_items:
        write.delete(f"belonging {item.sk}", item)
    for person in roster.joining:
        # Their row shows the message with which they joined, and nothing from before it.
        receiver_change(person, attempt.new_message, attempt.message).apply(person)
        roster_count_change(attempt.cached, person, roster).apply(person)
        write.put(f"joining {person.user_id}", person, Participant.pk.does_not_exist())


def _write_invitations(attempt: Attempt) -> None:
    write, roster = attempt.write, attempt.roster
    replaced = {invitation.user_id for invitation in roster.inviting}
    for invitation in roster.uninviting:
        if invitation.user_id not in replaced:
            write.delete(f"uninviting {invitation.user_id}", invitation, Invitation.pk.exists())
    for invitation in roster.inviting:
        _set_position(attempt, invitation)
        write.put(f"inviting {invitation.user_id}", invitation)
        # The message names them, whether they accept or not.
        left = make_left_thread(invitation, attempt.message.created_at)
        write.put(f"left {invitation.user_id}", left)


def _set_position(attempt: Attempt, invitation: Invitation) -> None:
    """The row of an invitation shows the message about it, and nothing from before it."""
    invitation.last_seq, invitation.last_tally = attempt.message.seq, attempt.message.tally
    invitation.last_message_at = attempt.message.created_at
    invitation.inbox_sk = keys.inbox_sk(
        attempt.message.created_at, invitation.thread_id, pinned=False
    )


def _write_pair(attempt: Attempt) -> None:
    """Registers the thread of two remaining participants, so that a block between them applies."""
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
    attempt.write.put("pair thread", make_thread_of_pair(pair.pk, attempt.cached.thread))


def thread_unchanged(cached: CachedThread) -> Condition:
    """Conditions that nothing was appended and the thread is neither locked nor on hold."""
    return thread_version_unchanged(cached).differ(status=LOCKED).absent("soft_block")


def thread_version_unchanged(cached: CachedThread) -> ConditionBuilder:
    thread = cached.thread
    expected = {
        "last_seq": thread.last_seq,
        "last_message_id": thread.last_message_id,
        "roster_version": thread.roster_version,
    }
    return ConditionBuilder(Thread).equal(**expected)


def can_write(cached: CachedThread, *, despite_hold: bool = False) -> Condition:
    now = keys.iso_from_ms(now_ms())
    allowed = ConditionBuilder(Participant).over(blocked_until=now).absent("request_state")
    if not despite_hold:
        allowed = allowed.absent("sending_hold")
    if cached.is_group:
        # In a group, a block between two participants does not stop them from sending.
        return allowed
    return allowed.absent("blocked_by")
