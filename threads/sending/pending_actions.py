"""Pending actions: what a thread requires of a user, such as an answer or a payment.

The thread lists all of them. A user has an item for each of theirs while the thread is in their
inbox; as with unread messages, those of an archived thread are neither listed nor counted.
"""

from collections.abc import Iterable

from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.dynamodb.transactions import Transaction
from threads.models import Participant, PendingAction, Thread
from threads.models.participant import ARCHIVED_FOLDER, INBOX
from threads.sending.new_message import NewMessage, RosterChange

# `user`, `what` (a card's message, an offer, a contract, a leg to pay for), `type`, `since`.
PendingEntry = dict[str, str]
# Stands for the id of the new message as `what`.
THIS_MESSAGE = ""


def pending_after(
    thread: Thread, new_message: NewMessage, message_id: str, roster: RosterChange
) -> list[PendingEntry]:
    waits = list(thread.waits or [])
    if new_message.waits is not None:
        waits = [each | {"what": each["what"] or message_id} for each in new_message.waits]
    leaving = roster.leaving_ids
    return [each for each in waits if each["user"] not in leaving] if leaving else waits


def list_awaited_users(waits: Iterable[PendingEntry]) -> list[str]:
    """The users of pending actions, each once."""
    return list(dict.fromkeys(each["user"] for each in waits))


def add_step(thread: Thread, waits: list[PendingEntry], user_id: str, waiting_for: str) -> str:
    """The stored value of a row: who has to act and, for the parties of a booking, the type of the
    pending action. Their own comes first."""
    if not waits or user_id not in thread.parties:
        return waiting_for
    shown = next((each for each in waits if each["user"] == waiting_for), waits[0])
    return f"{waiting_for}#{shown['type']}"


def update_pending_items(
    write: Transaction, cached: CachedThread, waits: list[PendingEntry], roster: RosterChange
) -> None:
    """Updates the items of remaining participants; those who leave lose all their items anyway."""
    if not waits and not cached.thread.waits:
        return
    staying = [one for one in cached.people.values() if one.user_id not in roster.leaving_ids]
    for person in staying:
        before = list_own_pending(cached.thread.waits or [], person.user_id, person.folder)
        update_own_items(
            write,
            cached.thread.id,
            before,
            list_own_pending(waits, person.user_id, _next_folder(person)),
        )


def _next_folder(person: Participant) -> str:
    """The folder after a new message, which returns an archived thread to the inbox."""
    return INBOX if person.folder == ARCHIVED_FOLDER else person.folder


def list_own_pending(
    waits: Iterable[PendingEntry], user_id: str, folder: str
) -> list[PendingEntry]:
    """The pending actions for which this user has an item."""
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
    """Whether the next message returns a thread to an inbox, which writes more items than usual."""
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
