"""A thread in one user's own inbox: folder, pin, mute, marked as unread.

Each action returns the row as it was before, for undo, or None if nothing changed.
"""

from collections.abc import Callable

from pynamodb.expressions.condition import Condition

from accounts.models import User
from core.refusals import Refusal
from realtime.broadcast.delivery import publish
from threads import cache
from threads.dynamodb import keys
from threads.dynamodb.change import Change
from threads.dynamodb.retry import Backoff
from threads.dynamodb.table import get_many
from threads.dynamodb.transactions import Transaction, TransactionCancelled, update
from threads.events import full_inbox_changed
from threads.models import Invitation, Participant, Thread
from threads.models.participant import (
    ARCHIVED_FOLDER,
    INBOX,
    REQUEST_DECLINED,
    REQUEST_RECEIVED,
    REQUESTS,
    SPAM,
)
from threads.sending.pending_actions import list_own_pending, update_own_items
from threads.sending.rows import read_cursor_unchanged, unread_index_keys

# Attribute names of a participant; the value None removes the attribute.
Wanted = dict[str, object]


def pin_thread(user: User, *, thread_id: str) -> Participant | None:
    return _change_row(user, thread_id, lambda person: {"pinned": True})


def unpin_thread(user: User, *, thread_id: str) -> Participant | None:
    return _change_row(user, thread_id, lambda person: {"pinned": False})


def archive_thread(user: User, *, thread_id: str) -> Participant | None:
    return _change_row(user, thread_id, lambda person: {"folder": ARCHIVED_FOLDER})


def restore_thread(user: User, *, thread_id: str) -> Participant | None:
    """Moves a request back to the requests folder while it can still be accepted."""
    return _change_row(user, thread_id, lambda person: {"folder": home_folder(person)})


def home_folder(person: Participant) -> str:
    is_open = (
        person.request_state in (REQUEST_RECEIVED, REQUEST_DECLINED)
        and not person.is_request_expired
    )
    return REQUESTS if is_open else INBOX


def mark_spam(user: User, *, thread_id: str) -> Participant | None:
    """Unlike an archived thread, it stays there when a new message arrives."""
    return _change_row(user, thread_id, lambda person: {"folder": SPAM})


def mute_thread(user: User, *, thread_id: str, until: str | None = None) -> Participant | None:
    """Without `until`, until it is unmuted."""
    return _change_row(user, thread_id, lambda person: {"muted": True, "muted_until": until})


def unmute_thread(user: User, *, thread_id: str) -> Participant | None:
    return _change_row(user, thread_id, lambda person: {"muted": False, "muted_until": None})


def mark_unread(user: User, *, thread_id: str) -> Participant | None:
    """Sets a flag and moves no cursor. A thread with unread messages needs no flag."""
    return _change_row(
        user, thread_id, lambda person: {"marked_unread": True} if _is_read(person) else {}
    )


def _is_read(person: Participant) -> bool:
    return not person.unread


def _change_row(
    user: User, thread_id: str, wanted: Callable[[Participant], Wanted]
) -> Participant | None:
    """Writes on condition that the row is unchanged since the read, and retries after a conflict,
    for example with a message that was sent in between."""
    backoff = Backoff()
    while True:
        person, thread = _read(user, thread_id)
        before, changes = person.copy(), wanted(person)
        if all(
            (getattr(person, name) or None) == (value or None) for name, value in changes.items()
        ):
            return None
        if _write(person, thread, changes):
            cache.update_participant(person)
            publish(full_inbox_changed(person), to=[person.user_id])
            return before
        backoff.wait()


def _read(user: User, thread_id: str) -> tuple[Participant, Thread]:
    pk, sk = keys.thread_pk(thread_id), keys.participant_sk(user.id)
    found = {item.sk: item for item in get_many([(pk, sk), (pk, keys.THREAD)])}
    person, thread = found.get(sk), found.get(keys.THREAD)
    if person is None and thread is not None:
        person = Invitation.find(pk, keys.invitation_sk(user.id))
    if not isinstance(person, Participant):
        raise Refusal("THREAD_NOT_FOUND")
    return person, thread if isinstance(thread, Thread) else Thread(pk, keys.THREAD)


def _write(person: Participant, thread: Thread, changes: Wanted) -> bool:
    """Pending actions are listed only while the row is in the inbox, so both change in one
    transaction."""
    change, pending = placement_change(person, changes), thread.waits or []
    before = list_own_pending(pending, person.user_id, person.folder)
    after = list_own_pending(pending, person.user_id, str(change.set["folder"]))
    if before == after:
        return update(person, change, _row_unchanged(person))
    write = Transaction()
    write.update(person.sk, person, change, _row_unchanged(person))
    write.check("thread", thread, Thread.roster_version == thread.roster_version)
    update_own_items(write, thread.id, before, after)
    try:
        write.commit()
    except TransactionCancelled:
        return False
    change.apply(person)
    return True


def _row_unchanged(person: Participant) -> Condition:
    """Includes the read cursor: whether the row is in the unread index depends on it."""
    return (
        (Participant.last_seq == person.last_seq)
        & (Participant.folder == person.folder)
        & (Participant.pinned == person.pinned)
        & read_cursor_unchanged(person)
    )


def placement_change(person: Participant, wanted: Wanted) -> Change:
    """Updates the index keys, which depend on the folder, the pin and the unread messages."""
    folder = str(wanted.get("folder", person.folder))
    pinned = bool(wanted.get("pinned", person.pinned))
    change = Change(
        set={name: value for name, value in wanted.items() if value is not None}
        | {
            "folder": folder,
            "pinned": pinned,
            "inbox_pk": keys.inbox_pk(person.user_id, folder),
            "inbox_sk": keys.inbox_sk(person.last_message_at, person.thread_id, pinned=pinned),
        },
        remove=tuple(name for name, value in wanted.items() if value is None),
    )
    if folder == INBOX and (person.has_unread or wanted.get("marked_unread")):
        change.set |= unread_index_keys(person)
    else:
        change.remove += ("unread_pk", "unread_sk")
    return change
