"""Safe mode of a conversation: everybody there sees that it changed, and who changed it."""

import contextlib

from accounts.models import User
from core.refusals import Refusal
from threads.actions.messages import check_can_write
from threads.cache import CachedThread
from threads.events import publish_message, publish_roster
from threads.models.message import SYSTEM
from threads.sending import NewMessage, NothingToDo, RosterChange, append


def require_safe_mode(user: User, *, thread_id: str) -> None:
    _set(user, thread_id, required=True)


def lift_safe_mode(user: User, *, thread_id: str) -> None:
    """For the conversation; whoever has it on for themself keeps it."""
    _set(user, thread_id, required=False)


def _set(user: User, thread_id: str, *, required: bool) -> None:
    words = "on" if required else "off"

    def plan(cached: CachedThread) -> tuple[NewMessage, RosterChange]:
        check_can_write(cached, user.id)
        thread = cached.thread
        if user.id not in (thread.buyer_id, thread.seller_id):
            raise Refusal("ACTION_FORBIDDEN", "Only those who began it can change safe mode.")
        if thread.safe_mode_required == required:
            raise NothingToDo
        text = f"{user.display_name} turned safe mode {words} for this conversation."
        # With the newest seq: turning it on again later is another line.
        key = f"safe-mode:{words}:{user.id}:{thread.last_seq}"
        line = NewMessage(client_id=key, body=text, preview=text, actor_id=user.id, type=SYSTEM)
        line.named = {user.id: user.display_name}
        line.thread_changes = {"safe_mode_required": required}
        return line, RosterChange()

    with contextlib.suppress(NothingToDo):
        appended = append(thread_id, plan)
        publish_message(appended)
        publish_roster(appended.cached, [])
