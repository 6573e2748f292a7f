"""What waits for whom in a thread, and the items by which each of them finds it.

The thread names all of it. Somebody has an item for each that is theirs while the row is in their
inbox, as with what is unread: put away, it is neither listed nor counted.
"""

from collections.abc import Iterable

from threads.cache import ThreadState
from threads.dynamodb import keys
from threads.dynamodb.transactions import Transaction
from threads.models import ActionWaiting, Participant, Thread
from threads.models.participant import ARCHIVED_FOLDER, INBOX
from threads.sending.new_message import Line, Roster

# `user`, `what` (a card's message, an offer, a contract), `type`, `since`.
Wait = dict[str, str]
# As `what`: the very message that is being written.
THIS = ""


def waits_after(thread: Thread, line: Line, message_id: str, roster: Roster) -> list[Wait]:
    waits = list(thread.waits or [])
    if line.waits is not None:
        waits = [each | {"what": each["what"] or message_id} for each in line.waits]
    gone = roster.leaving_ids
    return [each for each in waits if each["user"] not in gone] if gone else waits


def awaited(waits: Iterable[Wait]) -> list[str]:
    """Each once."""
    return list(dict.fromkeys(each["user"] for each in waits))


def change_items(write: Transaction, state: ThreadState, waits: list[Wait], roster: Roster) -> None:
    """Those who go lose theirs with everything else of their own."""
    if not waits and not state.thread.waits:
        return
    staying = [one for one in state.people.values() if one.user_id not in roster.leaving_ids]
    for person in staying:
        before = listed(state.thread.waits or [], person.user_id, person.folder)
        change_own(write, state.thread.id, before, listed(waits, person.user_id, _next(person)))


def _next(person: Participant) -> str:
    """An archived row comes back with any line."""
    return INBOX if person.folder == ARCHIVED_FOLDER else person.folder


def listed(waits: Iterable[Wait], user_id: str, folder: str) -> list[Wait]:
    """Those that this person has an item for."""
    return [each for each in waits if each["user"] == user_id] if folder == INBOX else []


def change_own(write: Transaction, thread_id: str, before: list[Wait], after: list[Wait]) -> None:
    had, has = ({each["what"] for each in waits} for waits in (before, after))
    for wait in before:
        if wait["what"] not in has:
            write.delete(f"waiting {wait['user']} {wait['what']}", item_of(thread_id, wait))
    for wait in after:
        if wait["what"] not in had:
            write.put(f"waiting {wait['user']} {wait['what']}", item_of(thread_id, wait))


def comes_back(state: ThreadState) -> bool:
    """Whether the next line brings somebody's items along: they are not of the usual few writes."""
    if not state.thread.waits:
        return False
    users = awaited(state.thread.waits)
    return any(
        one.folder == ARCHIVED_FOLDER and one.user_id in users for one in state.people.values()
    )


def item_of(thread_id: str, wait: Wait) -> ActionWaiting:
    return ActionWaiting(
        keys.user_pk(wait["user"]),
        keys.waiting_sk(thread_id, wait["what"]),
        type=wait["type"],
        created_at=wait["since"],
    )
