"""Permission checks of a thread. Each `check_` raises the refusal that the user is shown."""

from accounts.models import User
from core.refusals import Refusal
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.models import Message, Participant, Thread
from threads.models.participant import ADMIN, REQUEST_SENT, SELLER
from threads.rendering.labels import wait_notice
from threads.sending.new_message import now_ms

# --- Sending messages


def check_can_write(cached: CachedThread, user_id: str, *, despite_hold: bool = False) -> None:
    """`despite_hold` allows a safety call by a user whose sending is on hold."""
    person = cached.people.get(user_id)
    if person is None:
        raise Refusal("THREAD_NOT_FOUND")
    check_thread_open(cached)
    # To the sender of a request, a block must look the same as an unanswered request.
    is_waiting = person.request_state == REQUEST_SENT and user_id not in (person.blocked_by or ())
    if person.blocked_by and not cached.is_group and not is_waiting:
        raise Refusal("MSG_BLOCKED_BY_USER")
    if person.request_state:
        raise _refusal_of_request(person)
    if not despite_hold:
        check_not_held(person)
    check_not_paused(person.blocked_until)


def check_thread_open(cached: CachedThread) -> None:
    if cached.thread.is_locked:
        raise Refusal("THREAD_LOCKED")
    if cached.thread.soft_block:
        raise Refusal("SAFETY_SOFT_BLOCK")


def check_not_held(person: Participant) -> None:
    if person.sending_hold:
        raise Refusal(
            "SAFETY_SOFT_BLOCK",
            f"You can't send messages here for now. {person.sending_hold['reason']}",
            hint="You can send messages again once our safety team has finished its review.",
        )


def check_not_paused(until: str | None) -> None:
    """A pause is a mute by staff, or the cool-down after a message against the policy."""
    wait = _seconds_until(until)
    if wait > 0:
        raise Refusal("RATE_LIMITED", wait_notice(wait), retry_after=wait)


def _seconds_until(time: str | None) -> int:
    if time is None:
        return 0
    return round(keys.parse_iso(time).timestamp() - now_ms() / 1000 + 0.5)


def can_quote(quoted: Message | None, person: Participant) -> bool:
    return quoted is not None and quoted.seq >= person.visible_from_seq


def check_is_author(user: User, message: Message) -> None:
    if message.author_id != user.id or message.is_withheld:
        raise Refusal("MSG_NOT_EDITABLE")


# --- Requests


def _refusal_of_request(person: Participant) -> Refusal:
    """The recipient has to answer first, and the sender has to wait."""
    name = person.other_side["name"]
    if person.request_state != REQUEST_SENT:
        return Refusal(
            "REQUEST_PENDING",
            f"You haven't accepted {name}'s request.",
            hint="Accept it to reply.",
        )
    if person.is_request_expired:
        return Refusal(
            "REQUEST_PENDING",
            f"{name} didn't answer your request, and it has expired.",
            hint="You can start a new conversation from their profile.",
        )
    return request_pending(name)


def request_pending(name: str) -> Refusal:
    return Refusal("REQUEST_PENDING", f"{name} hasn't accepted your request yet.")


def check_is_verified(sender: User, recipient: User) -> None:
    if recipient.requires_verified and not sender.verified:
        raise Refusal(
            "MSG_GATE_REQUIRED",
            f"{recipient.display_name} only accepts requests from verified accounts.",
            hint="Verify your account, then try again.",
        )


# --- Participants


def check_can_add(cached: CachedThread, user_id: str) -> None:
    check_can_write(cached, user_id)
    if not can_add(cached.thread, cached.people[user_id]):
        who = "the buyer" if cached.thread.group_id else "the buyer and the seller"
        raise Refusal("ACTION_FORBIDDEN", f"Only {who} can add and remove people.")


def check_can_remove(cached: CachedThread, user_id: str, person: Participant) -> None:
    thread, me = cached.thread, cached.people[user_id]
    if person.user_id in _parties(thread):
        raise Refusal(
            "ACTION_FORBIDDEN", "The buyer and the sellers of a booking can't be removed."
        )
    if not can_remove(thread, me, person):
        raise Refusal("ACTION_FORBIDDEN", f"You can't remove {person.person['name']}.")


def can_add(thread: Thread, me: Participant) -> bool:
    """In a booking group only the buyer can, so that no seller decides about another one."""
    if me.role == ADMIN or me.user_id == thread.buyer_id:
        return True
    return me.user_id == thread.seller_id and not thread.group_id


def can_remove(thread: Thread, me: Participant, person: Participant) -> bool:
    """A seller can remove only participants of their own side, and only staff can remove staff."""
    if person.user_id in _parties(thread) or not can_add(thread, me):
        return False
    if me.role == ADMIN:
        return True
    if person.role == ADMIN:
        return False
    return me.user_id == thread.buyer_id or person.role == SELLER


def _parties(thread: Thread) -> set[str]:
    return {thread.buyer_id, thread.seller_id, *thread.parties}
