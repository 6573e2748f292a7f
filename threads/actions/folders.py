"""Where a conversation stands in one person's own inbox: folder, pin, mute, marked as unread.

Each returns the row as it was, for whoever wants to take it back, or None if nothing changed.
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

# By Python names; None removes.
Wanted = dict[str, object]


def pin_thread(user: User, *, thread_id: str) -> Participant | None:
    return _place(user, thread_id, lambda person: {"pinned": True})


def unpin_thread(user: User, *, thread_id: str) -> Participant | None:
    return _place(user, thread_id, lambda person: {"pinned": False})


def archive_thread(user: User, *, thread_id: str) -> Participant | None:
    return _place(user, thread_id, lambda person: {"folder": ARCHIVED_FOLDER})


def restore_thread(user: User, *, thread_id: str) -> Participant | None:
    """A request goes back to where those wait, while it can still be accepted."""
    return _place(user, thread_id, lambda person: {"folder": home_folder(person)})


def home_folder(person: Participant) -> str:
    waits = (
        person.request_state in (REQUEST_RECEIVED, REQUEST_DECLINED)
        and not person.is_request_expired
    )
    return REQUESTS if waits else INBOX


def mark_spam(user: User, *, thread_id: str) -> Participant | None:
    """Unlike an archived one it stays there, whatever is written."""
    return _place(user, thread_id, lambda person: {"folder": SPAM})


def mute_thread(user: User, *, thread_id: str, until: str | None = None) -> Participant | None:
    """Until a time, or for good."""
    return _place(user, thread_id, lambda person: {"muted": True, "muted_until": until})


def unmute_thread(user: User, *, thread_id: str) -> Participant | None:
    return _place(user, thread_id, lambda person: {"muted": False, "muted_until": None})


def mark_unread(user: User, *, thread_id: str) -> Participant | None:
    """A flag of its own: no cursor moves. What is unread anyway needs none."""
    return _place(
        user, thread_id, lambda person: {"marked_unread": True} if _is_read(person) else {}
    )


def _is_read(person: Participant) -> bool:
    return not person.unread


def _place(
    user: User, thread_id: str, wanted: Callable[[Participant], Wanted]
) -> Participant | None:
    """On what was read: a send in between would have moved the row, and is looked at again."""
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
    """What waits for them is listed while the row is in the inbox: both change, or neither."""
    change, waits = placement_change(person, changes), thread.waits or []
    before = list_own_pending(waits, person.user_id, person.folder)
    after = list_own_pending(waits, person.user_id, str(change.set["folder"]))
    if before == after:
        return update(person, change, _as_read(person))
    write = Transaction()
    write.update(person.sk, person, change, _as_read(person))
    write.check("thread", thread, Thread.roster_version == thread.roster_version)
    update_own_items(write, thread.id, before, after)
    try:
        write.commit()
    except TransactionCancelled:
        return False
    change.apply(person)
    return True


def _as_read(person: Participant) -> Condition:
    """With the read cursor, since whether the row is listed as unread depends on it."""
    return (
        (Participant.last_seq == person.last_seq)
        & (Participant.folder == person.folder)
        & (Participant.pinned == person.pinned)
        & read_cursor_unchanged(person)
    )


def placement_change(person: Participant, wanted: Wanted) -> Change:
    """The row's place in the indexes follows from its folder, its pin and what is unread."""
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
