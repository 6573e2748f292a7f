"""Changes of the thread and of every participant's item by a new message."""

from typing import Any

from pynamodb.expressions.condition import Condition

from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.dynamodb.change import Change
from threads.models import Message, Participant, Thread
from threads.models.message import ACTION
from threads.models.participant import ADMIN, ARCHIVED_FOLDER, INBOX
from threads.models.thread import OPEN, PROJECT
from threads.sending.new_message import NewMessage, RosterChange
from threads.sending.pending_actions import (
    PendingEntry,
    add_step,
    list_awaited_users,
    pending_after,
)

# Removed from the item of a participant who has read everything.
CAUGHT_UP_REMOVED_FIELDS = (
    "marked_unread",
    "first_undelivered_seq",
    "first_undelivered_message_id",
    "pending_pk",
    "pending_sk",
    "unread_pk",
    "unread_sk",
)


def thread_change(
    cached: CachedThread, new_message: NewMessage, message: Message, roster: RosterChange
) -> Change:
    change = Change(
        set={
            "last_seq": message.seq,
            "last_tally": message.tally,
            "last_message_id": message.id,
            "last_message_at": message.created_at,
            "updated_at": message.created_at,
            "last_message": new_message.summary,
            **({} if new_message.by_staff else {"status": OPEN}),
            **new_message.thread_changes,
        },
        remove=new_message.cleared_thread_fields,
    )
    waits = pending_after(cached.thread, new_message, message.id, roster)
    if waits != (cached.thread.waits or []):
        change.set["waits"] = waits
    waiting_for = waiting_for_change(cached.thread, new_message, waits)
    if waiting_for.get("waiting_for") != cached.thread.waiting_for:
        change.set |= waiting_for
    if new_message.binding:
        bound = new_message.binding.change(cached.thread)
        change.set |= bound.set
        change.remove += bound.remove
    if roster.changes_people:
        leaving = roster.leaving_ids
        staying = [user_id for user_id in cached.thread.participants if user_id not in leaving]
        change.set["participants"] = staying + [person.user_id for person in roster.joining]
        change.set["roster_version"] = cached.thread.roster_version + 1
    return change


def waiting_for_change(
    thread: Thread, new_message: NewMessage, waits: list[PendingEntry], user_id: str = ""
) -> dict[str, Any]:
    """The user whose reply is awaited. Only messages of buyer and seller change it. While there are
    pending actions it is one of their users: `user_id`, if they are among them."""
    if waits:
        users = list_awaited_users(waits)
        return {"waiting_for": user_id if user_id in users else users[0]}
    if thread.waits or new_message.type == ACTION:
        # The last pending action is done, or this card requires an action of staff.
        return {"waiting_for": ""}
    sides = {thread.buyer_id: thread.seller_id, thread.seller_id: thread.buyer_id}
    recipient = sides.get(new_message.author_id or "")
    return {"waiting_for": recipient} if recipient else {}


def row_waiting_change(
    thread: Thread, new_message: NewMessage, waits: list[PendingEntry], user_id: str
) -> dict[str, Any]:
    """The same for the row of a user, with the pending action that it shows."""
    change = waiting_for_change(thread, new_message, waits, user_id)
    if not change:
        return {}
    return {"waits_on": add_step(thread, waits, user_id, change["waiting_for"])}


def sender_change(
    cached: CachedThread, person: Participant, new_message: NewMessage, message: Message
) -> Change:
    row = _row_change(person, new_message, message) | new_message.author_changes
    if _may_lag(person, message):
        del row["inbox_sk"]
    seen = cached.thread.last_seq
    if new_message.seen_seq < seen and person.last_read_seq + person.own_since_read != seen:
        if _returns_unread(person):
            row |= unread_index_keys(person)
        return Change(set=row, add={"own_since_read": 1})
    return Change(
        set=row | caught_up_cursors(message), remove=_caught_up_removed_fields(cached, person)
    )


def receiver_change(person: Participant, new_message: NewMessage, message: Message) -> Change:
    row = _row_change(person, new_message, message)
    row["pending_pk"] = keys.pending_pk(person.user_id)
    row["pending_sk"] = keys.thread_sk(message.thread_id)
    if _next_folder(person) == INBOX and (message.has_author or _returns_unread(person)):
        row |= unread_index_keys(person)
    return Change(
        set=row,
        set_if_absent={
            "first_undelivered_seq": message.seq,
            "first_undelivered_message_id": message.id,
        },
    )


def roster_count_change(cached: CachedThread, person: Participant, roster: RosterChange) -> Change:
    """The number of other participants, and a block between the last two."""
    change = Change()
    if roster.joining or roster.leaving:
        people = len(cached.people) + len(roster.joining) - len(roster.leaving)
        change.set["others_count"] = people - 1
    if roster.blockers is not None and person.role != ADMIN:
        if roster.blockers:
            change.set["blocked_by"] = roster.blockers
        else:
            change.remove = ("blocked_by",)
    return change


def unread_index_keys(person: Participant) -> dict[str, Any]:
    return {
        "unread_pk": keys.unread_pk(person.user_id),
        "unread_sk": keys.thread_sk(person.thread_id),
    }


def read_cursor_unchanged(person: Participant) -> Condition:
    """A condition that the read cursor has not moved since the item was read."""
    marked = Participant.marked_unread
    return (
        (Participant.last_read_seq == person.last_read_seq)
        & (Participant.own_since_read == person.own_since_read)
        & (marked.exists() if person.marked_unread else marked.does_not_exist())
    )


def _returns_unread(person: Participant) -> bool:
    """Whether an archived thread was unread, and has to be listed as unread again."""
    return person.folder == ARCHIVED_FOLDER and person.has_unread


def caught_up_cursors(message: Message) -> dict[str, Any]:
    """The cursors of a participant who has read everything up to this newest message."""
    return {
        "last_read_seq": message.seq,
        "last_read_message_id": message.id,
        "last_read_tally": message.tally,
        "last_read_at": message.created_at,
        "delivered_seq": message.seq,
        "own_since_read": 0,
    }


def is_current(cached: CachedThread, person: Participant) -> bool:
    """Whether the cached item has the newest message of the cached thread. Then what only messages
    change is as stored, if the thread's condition holds."""
    return person.last_seq == cached.thread.last_seq


def _caught_up_removed_fields(cached: CachedThread, person: Participant) -> tuple[str, ...]:
    """Only a mark as unread can be added without a message; the write has a condition on it."""
    if not is_current(cached, person):
        return CAUGHT_UP_REMOVED_FIELDS
    return tuple(name for name in CAUGHT_UP_REMOVED_FIELDS if getattr(person, name) is not None)


def _next_folder(person: Participant) -> str:
    """A new message returns an archived thread to the inbox."""
    return INBOX if person.folder == ARCHIVED_FOLDER else person.folder


def _may_lag(person: Participant, message: Message) -> bool:
    """Whether the sort key of the sender's row is recent enough. Nothing moves it back, so in the
    store it is at least as recent."""
    latest = keys.parse_iso(keys.position_time(person.inbox_sk)) + keys.MAX_POSITION_LAG
    return _next_folder(person) == person.folder and message.created_at <= keys.iso(latest)


def _row_change(person: Participant, new_message: NewMessage, message: Message) -> dict[str, Any]:
    row = {
        "last_seq": message.seq,
        "last_tally": message.tally,
        "last_message_at": message.created_at,
        "last_message": new_message.summary,
        "inbox_sk": keys.inbox_sk(message.created_at, message.thread_id, pinned=person.pinned),
    }
    folder = _next_folder(person)
    if folder != person.folder:
        row |= {"folder": folder, "inbox_pk": keys.inbox_pk(person.user_id, folder)}
    if new_message.binding:
        row["kind"] = PROJECT
    return row
