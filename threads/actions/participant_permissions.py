"""Who may add and remove people in a conversation."""

from core.refusals import Refusal
from threads.actions.messages import check_can_write
from threads.cache import CachedThread
from threads.models import Participant, Thread
from threads.models.participant import ADMIN, SELLER


def check_can_add(cached: CachedThread, user_id: str) -> None:
    check_can_write(cached, user_id)
    if not can_add(cached.thread, cached.people[user_id]):
        raise Refusal("ACTION_FORBIDDEN", _who_adds(cached.thread))


def check_can_remove(cached: CachedThread, user_id: str, person: Participant) -> None:
    thread, me = cached.thread, cached.people[user_id]
    if person.user_id in _parties(thread):
        raise Refusal(
            "ACTION_FORBIDDEN", "The buyer and the sellers of a booking can't be removed."
        )
    if not can_remove(thread, me, person):
        raise Refusal("ACTION_FORBIDDEN", f"You can't remove {person.person['name']}.")


def can_add(thread: Thread, me: Participant) -> bool:
    """In a booking group only the buyer, so that no seller decides about another one."""
    if me.role == ADMIN or me.user_id == thread.buyer_id:
        return True
    return me.user_id == thread.seller_id and not thread.group_id


def can_remove(thread: Thread, me: Participant, person: Participant) -> bool:
    """A seller removes only those of their own side; nobody but staff removes staff."""
    if person.user_id in _parties(thread) or not can_add(thread, me):
        return False
    if me.role == ADMIN:
        return True
    if person.role == ADMIN:
        return False
    return me.user_id == thread.buyer_id or person.role == SELLER


def _parties(thread: Thread) -> set[str]:
    return {thread.buyer_id, thread.seller_id, *thread.parties}


def _who_adds(thread: Thread) -> str:
    who = "the buyer" if thread.group_id else "the buyer and the seller"
    return f"Only {who} can add and remove people."
