"""Where a conversation stands in one person's own inbox."""

from collections.abc import Callable

from pynamodb.expressions.condition import Condition

from accounts.models import User
from accounts.refusals import Refusal
from realtime.delivery import deliver
from threads import state as states
from threads.models import Participant, keys
from threads.models.changes import Change, update
from threads.models.participant import ARCHIVED_FOLDER, INBOX
from threads.telling import inbox_changed
from threads.writing.rows import has_read_as, listed_unread

MOST_RACES = 20


def pin_thread(user: User, *, thread_id: str) -> None:
    _place(user, thread_id, lambda person: {"pinned": True})


def unpin_thread(user: User, *, thread_id: str) -> None:
    _place(user, thread_id, lambda person: {"pinned": False})


def archive_thread(user: User, *, thread_id: str) -> None:
    _place(user, thread_id, lambda person: {"folder": ARCHIVED_FOLDER})


def restore_thread(user: User, *, thread_id: str) -> None:
    _place(user, thread_id, lambda person: {"folder": INBOX})


def _place(user: User, thread_id: str, wanted: Callable[[Participant], dict[str, object]]) -> None:
    """On what was read: a send in between would have moved the row, and is looked at again."""
    for _ in range(MOST_RACES):
        person = Participant.find(keys.thread_pk(thread_id), keys.participant_sk(user.id))
        if person is None:
            raise Refusal("THREAD_NOT_FOUND")
        change = placing(person, wanted(person))
        if update(person, change, _as_read(person)):
            states.note(person)
            deliver(inbox_changed(person, unread=person.unread), to=[person.user_id])
            return
    raise Refusal("TRY_AGAIN")


def _as_read(person: Participant) -> Condition:
    """With the read cursor, since whether the row is listed as unread depends on it."""
    return (
        (Participant.last_seq == person.last_seq)
        & (Participant.folder == person.folder)
        & (Participant.pinned == person.pinned)
        & has_read_as(person)
    )


def placing(person: Participant, wanted: dict[str, object]) -> Change:
    """The row's place in the indexes follows from its folder and its pin."""
    folder = str(wanted.get("folder", person.folder))
    pinned = bool(wanted.get("pinned", person.pinned))
    change = Change(
        set={
            "folder": folder,
            "pinned": pinned,
            "inbox_pk": keys.inbox_pk(person.user_id, folder),
            "inbox_sk": keys.inbox_sk(person.last_message_at, person.thread_id, pinned=pinned),
        }
    )
    if folder == INBOX and person.has_unread:
        change.set |= listed_unread(person)
    else:
        change.remove = ("unread_pk", "unread_sk")
    return change
