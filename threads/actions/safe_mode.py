"""Safe mode of a thread. A system message shows every participant who changed it."""

import contextlib

from accounts.models import User
from core.refusals import Refusal
from threads.cache import CachedThread
from threads.events import publish_message, publish_roster
from threads.models.message import SYSTEM
from threads.permissions import check_can_write
from threads.sending import NewMessage, NothingToDo, RosterChange, append


def require_safe_mode(user: User, *, thread_id: str) -> None:
    _set(user, thread_id, required=True)


def lift_safe_mode(user: User, *, thread_id: str) -> None:
    """Does not change the safe mode that a user has in their own settings."""
    _set(user, thread_id, required=False)


def _set(user: User, thread_id: str, *, required: bool) -> None:
    state = "on" if required else "off"

    def plan(cached: CachedThread) -> tuple[NewMessage, RosterChange]:
        check_can_write(cached, user.id)
        thread = cached.thread
        if user.id not in (thread.buyer_id, thread.seller_id):
            raise Refusal(
                "ACTION_FORBIDDEN",
                "Only the two people who started this conversation can change safe mode.",
            )
        if thread.safe_mode_required == required:
            raise NothingToDo
        text = f"{user.display_name} turned safe mode {state} for this conversation."
        # The newest seq makes turning it on again later another message.
        key = f"safe-mode:{state}:{user.id}:{thread.last_seq}"
        message = NewMessage(client_id=key, body=text, preview=text, actor_id=user.id, type=SYSTEM)
        message.named = {user.id: user.display_name}
        message.thread_changes = {"safe_mode_required": required}
        return message, RosterChange()

    with contextlib.suppress(NothingToDo):
        appended = append(thread_id, plan)
        publish_message(appended)
        publish_roster(appended.cached, [])
