"""What waits for whom in a thread, and the items by which each of them finds it.

The thread names all of it. Somebody has an item for each that is theirs while the row is in their
inbox, as with what is unread: put away, it is neither listed nor counted.
"""

from collections.abc import Iterable

from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.dynamodb.transactions import Transaction
from threads.models import Participant, PendingAction, Thread
from threads.models.participant import ARCHIVED_FOLDER, INBOX
from threads.sending.new_message import NewMessage, RosterChange

# `user`, `what` (a card's message, an offer, a contract), `type`, `since`.
PendingEntry = dict[str, str]
# As `what`: the very message that is being written.
THIS_MESSAGE = ""


def pending_after(
    thread: Thread, line: NewMessage, message_id: str, roster: RosterChange
) -> list[PendingEntry]:
    waits = list(thread.waits or [])
    if line.waits is not None:
        waits = [each | {"what": each["what"] or message_id} for each in line.waits]
    gone = roster.leaving_ids
    return [each for each in waits if each["user"] not in gone] if gone else waits


def list_awaited_users(waits: Iterable[PendingEntry]) -> list[str]:
    """Each once."""
    return list(dict.fromkeys(each["user"] for each in waits))


def update_pending_items(
    write: Transaction, cached: CachedThread, waits: list[PendingEntry], roster: RosterChange
) -> None:
    """Those who go lose theirs with everything else of their own."""
    if not waits and not cached.thread.waits:
        return
    staying = [one for one in cached.people.values() if one.user_id not in roster.leaving_ids]
    for person in staying:
        before = list_own_pending(cached.thread.waits or [], person.user_id, person.folder)
        update_own_items(
            write, cached.thread.id, before, list_own_pending(waits, person.user_id, _next(person))
        )


def _next(person: Participant) -> str:
    """An archived row comes back with any line."""
    return INBOX if person.folder == ARCHIVED_FOLDER else person.folder


def list_own_pending(
    waits: Iterable[PendingEntry], user_id: str, folder: str
) -> list[PendingEntry]:
    """Those that this person has an item for."""
    return [each for each in waits if each["user"] == user_id] if folder == INBOX else []


def update_own_items(
    write: Transaction, thread_id: str, before: list[PendingEntry], after: list[PendingEntry]
) -> None:
    had, has = ({each["what"] for each in waits} for waits in (before, after))
    for wait in before:
        if wait["what"] not in has:
            write.delete(
                f"waiting {wait['user']} {wait['what']}", make_pending_item(thread_id, wait)
            )
    for wait in after:
        if wait["what"] not in had:
            write.put(f"waiting {wait['user']} {wait['what']}", make_pending_item(thread_id, wait))


def restores_pending_items(cached: CachedThread) -> bool:
    """Whether the next line brings somebody's items along: they are not of the usual few writes."""
    if not cached.thread.waits:
        return False
    users = list_awaited_users(cached.thread.waits)
    return any(
        one.folder == ARCHIVED_FOLDER and one.user_id in users for one in cached.people.values()
    )


def make_pending_item(thread_id: str, wait: PendingEntry) -> PendingAction:
    return PendingAction(
        keys.user_pk(wait["user"]),
        keys.pending_action_sk(thread_id, wait["what"]),
        type=wait["type"],
        created_at=wait["since"],
    )
