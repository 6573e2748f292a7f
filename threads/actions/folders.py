"""Where a conversation stands in one person's own inbox."""

from collections.abc import Callable

from pynamodb.exceptions import UpdateError

from accounts.models import User
from accounts.refusals import Refusal
from realtime.delivery import deliver
from threads import state as states
from threads.models import Participant, keys
from threads.models.changes import Change
from threads.models.participant import ARCHIVED_FOLDER, INBOX
from threads.telling import inbox_changed

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
        as_read = (
            (Participant.last_seq == person.last_seq)
            & (Participant.folder == person.folder)
            & (Participant.pinned == person.pinned)
        )
        try:
            person.update(change.actions(Participant), condition=as_read)
        except UpdateError as error:
            if error.cause_response_code != "ConditionalCheckFailedException":
                raise
            continue
        _tell(person, change)
        return
    raise Refusal("TRY_AGAIN")


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
    if folder == INBOX and (person.unread or person.marked_unread):
        change.set["unread_pk"] = keys.unread_pk(person.user_id)
        change.set["unread_sk"] = person.thread_id
    else:
        change.remove = ("unread_pk", "unread_sk")
    return change


def _tell(person: Participant, change: Change) -> None:
    states.note(person, change)
    deliver(inbox_changed(person, unread=person.unread), to=[person.user_id])
