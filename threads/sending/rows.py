"""What a new line changes of the thread and of every participant's item."""

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
from threads.sending.pending_actions import PendingEntry, list_awaited_users, pending_after

# Gone from the item of somebody who has everything: nothing is unread, nothing undelivered.
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
    cached: CachedThread, line: NewMessage, message: Message, roster: RosterChange
) -> Change:
    change = Change(
        set={
            "last_seq": message.seq,
            "last_tally": message.tally,
            "last_message_id": message.id,
            "last_message_at": message.created_at,
            "updated_at": message.created_at,
            "last_message": line.summary,
            **({} if line.by_staff else {"status": OPEN}),
            **line.thread_changes,
        },
        remove=line.cleared_thread_fields,
    )
    waits = pending_after(cached.thread, line, message.id, roster)
    if waits != (cached.thread.waits or []):
        change.set["waits"] = waits
    change.set |= waiting_for_change(cached.thread, line, waits)
    if line.binding:
        bound = line.binding.change(cached.thread)
        change.set |= bound.set
        change.remove += bound.remove
    if roster.changes_people:
        gone = roster.leaving_ids
        staying = [user_id for user_id in cached.thread.participants if user_id not in gone]
        change.set["participants"] = staying + [person.user_id for person in roster.joining]
        change.set["roster_version"] = cached.thread.roster_version + 1
    return change


def waiting_for_change(
    thread: Thread, line: NewMessage, waits: list[PendingEntry], user_id: str = ""
) -> dict[str, Any]:
    """Who owes whom a reply is between the two principals; nobody else's words move it. As long as
    something waits for somebody, it is that one: for `user_id`, if that is one of them."""
    if waits:
        users = list_awaited_users(waits)
        return {"waiting_for": user_id if user_id in users else users[0]}
    if thread.waits or line.type == ACTION:
        # The last one is answered; or this one waits for staff.
        return {"waiting_for": ""}
    sides = {thread.buyer_id: thread.seller_id, thread.seller_id: thread.buyer_id}
    answers = sides.get(line.author_id or "")
    return {"waiting_for": answers} if answers else {}


def sender_change(
    cached: CachedThread, person: Participant, line: NewMessage, message: Message
) -> Change:
    row = _row(person, line, message) | line.author_changes
    seen = cached.thread.last_seq
    if line.seen_seq < seen and person.last_read_seq + person.own_since_read != seen:
        if _comes_back_unread(person):
            row |= unread_index_keys(person)
        return Change(set=row, add={"own_since_read": 1})
    return Change(set=row | caught_up_cursors(message), remove=CAUGHT_UP_REMOVED_FIELDS)


def receiver_change(person: Participant, line: NewMessage, message: Message) -> Change:
    row = _row(person, line, message)
    row["pending_pk"] = keys.pending_pk(person.user_id)
    row["pending_sk"] = message.thread_id
    if row["folder"] == INBOX and (message.has_author or _comes_back_unread(person)):
        row |= unread_index_keys(person)
    return Change(
        set=row,
        set_if_absent={
            "first_undelivered_seq": message.seq,
            "first_undelivered_message_id": message.id,
        },
    )


def roster_count_change(cached: CachedThread, person: Participant, roster: RosterChange) -> Change:
    """Who else is there now: how many, and whether a block stands between the last two."""
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
    return {"unread_pk": keys.unread_pk(person.user_id), "unread_sk": person.thread_id}


def read_cursor_unchanged(person: Participant) -> Condition:
    """Nobody has moved the read cursor since this was read."""
    marked = Participant.marked_unread
    return (
        (Participant.last_read_seq == person.last_read_seq)
        & (Participant.own_since_read == person.own_since_read)
        & (marked.exists() if person.marked_unread else marked.does_not_exist())
    )


def _comes_back_unread(person: Participant) -> bool:
    """What was unread when it was archived is so again; the archived one was not listed."""
    return person.folder == ARCHIVED_FOLDER and person.has_unread


def caught_up_cursors(message: Message) -> dict[str, Any]:
    """The cursors of somebody who has seen everything up to this message, the newest."""
    return {
        "last_read_seq": message.seq,
        "last_read_message_id": message.id,
        "last_read_tally": message.tally,
        "last_read_at": message.created_at,
        "delivered_seq": message.seq,
        "own_since_read": 0,
    }


def _row(person: Participant, line: NewMessage, message: Message) -> dict[str, Any]:
    # An archived conversation comes back when something happens in it.
    folder = INBOX if person.folder == ARCHIVED_FOLDER else person.folder
    return {
        "last_seq": message.seq,
        "last_tally": message.tally,
        "last_message_at": message.created_at,
        "last_message": line.summary,
        "folder": folder,
        "inbox_pk": keys.inbox_pk(person.user_id, folder),
        "inbox_sk": keys.inbox_sk(message.created_at, message.thread_id, pinned=person.pinned),
        **({"kind": PROJECT} if line.binding else {}),
    }
