"""What staff do in a thread. Who may, and the record of it, is the moderation app's; here is what
changes, and that people see it at once. None of it needs to be in the thread, and none is refused
because it is locked."""

import contextlib
from collections.abc import Callable
from typing import Any

from core.refusals import Refusal
from threads import cache
from threads.actions.revisions import revise_message
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.dynamodb.change import Change
from threads.dynamodb.retry import Backoff
from threads.dynamodb.transactions import update
from threads.events import publish_message, publish_thread_changed
from threads.models import Message, Thread
from threads.models.message import ACTION, PREVIEW_LENGTH, SYSTEM
from threads.models.thread import LOCKED, OPEN
from threads.outbox_handlers import wake_thread
from threads.rendering.markdown import escape_markdown
from threads.sending import NewMessage, NothingToDo, RosterChange, append
from threads.sending.revision import now
from threads.signals import thread_resumed, thread_stopped

# Why a conversation is stopped.
LOCK, SOFT_BLOCK = "lock", "hold"
REDACTED = "█████"


def hide_message(*, thread_id: str, message_id: str) -> None:
    def decide(message: Message) -> Change | None:
        return None if message.hidden_at else Change(set={"hidden_at": now()})

    revise_message(None, thread_id, message_id, decide, "message.hidden")


def unhide_message(*, thread_id: str, message_id: str) -> None:
    def decide(message: Message) -> Change | None:
        return Change(remove=("hidden_at",)) if message.hidden_at else None

    revise_message(None, thread_id, message_id, decide, "message.hidden")


def redact_message(*, thread_id: str, message_id: str, text: str) -> None:
    """Blacks out every occurrence of a text, for good: in what it says and in what it said."""

    def decide(message: Message) -> Change | None:
        if message.type == ACTION:
            raise Refusal("BAD_FRAME", "A card cannot be blacked out.", hint="Hide it instead.")
        bodies = [message.body or "", *(old["body"] for old in message.earlier_bodies or [])]
        if not any(text in body for body in bodies):
            if (message.flags or {}).get("redactedAt"):
                return None
            raise Refusal("BAD_FRAME", "This text is not in the message.")
        return Change(set=_redacted(message, text))

    revise_message(None, thread_id, message_id, decide, "message.edited")


def _redacted(message: Message, text: str) -> dict[str, Any]:
    change: dict[str, Any] = {
        "body": (message.body or "").replace(text, REDACTED),
        "flags": {**(message.flags or {}), "redactedAt": now()},
    }
    if message.earlier_bodies:
        change["earlier_bodies"] = [
            {**old, "body": old["body"].replace(text, REDACTED)} for old in message.earlier_bodies
        ]
    return change


def lock_thread(*, thread_id: str, reason: str) -> None:
    """Read only for everybody, and everybody sees why."""

    def change(thread: Thread) -> Change | None:
        if thread.is_locked and thread.lock_reason == reason:
            return None
        return Change(set={"status": LOCKED, "lock_reason": reason})

    _change_thread(thread_id, change, says=f"Our safety team locked this conversation. {reason}")
    thread_stopped.send(None, thread_id=thread_id, reason=LOCK)


def unlock_thread(*, thread_id: str) -> None:
    unlock = Change(set={"status": OPEN}, remove=("lock_reason",))
    _change_thread(
        thread_id,
        lambda thread: unlock if thread.is_locked else None,
        says="Our safety team unlocked this conversation.",
    )
    thread_resumed.send(None, thread_id=thread_id, reason=LOCK)
    wake_thread(thread_id)


def soft_block_thread(*, thread_id: str, reason: str, case_id: str) -> None:
    """Nobody writes until staff have looked at it."""
    hold = Change(set={"soft_block": {"reason": reason, "case": case_id}})
    _change_thread(thread_id, lambda thread: None if thread.soft_block else hold)
    thread_stopped.send(None, thread_id=thread_id, reason=SOFT_BLOCK)


def lift_soft_block(
    *, thread_id: str, says: str = "Our safety team lifted the hold on this conversation."
) -> None:
    """Without `says` nothing is added to the conversation: the caller says it."""
    lift = Change(remove=("soft_block",))
    _change_thread(thread_id, lambda thread: lift if thread.soft_block else None, says=says)
    thread_resumed.send(None, thread_id=thread_id, reason=SOFT_BLOCK)
    wake_thread(thread_id)


def _change_thread(
    thread_id: str, decide: Callable[[Thread], Change | None], *, says: str = ""
) -> None:
    """The change and the system message about it are one transaction."""
    if says:
        _append(thread_id, decide, says)
    else:
        _update(thread_id, decide)
    publish_thread_changed(thread_id)


def _append(thread_id: str, decide: Callable[[Thread], Change | None], says: str) -> None:
    def plan(cached: CachedThread) -> tuple[NewMessage, RosterChange]:
        change = decide(cached.thread)
        if change is None:
            raise NothingToDo
        rev = cached.thread.rev + 1
        line = NewMessage(
            client_id=f"staff:{rev}",
            body=escape_markdown(says),
            preview=says[:PREVIEW_LENGTH],
            type=SYSTEM,
            thread_changes=change.set | {"rev": rev},
            cleared_thread_fields=change.remove,
            by_staff=True,
        )
        return line, RosterChange()

    with contextlib.suppress(NothingToDo):
        publish_message(append(thread_id, plan))


def _update(thread_id: str, decide: Callable[[Thread], Change | None]) -> None:
    backoff = Backoff()
    with cache.write_lock(thread_id):
        while True:
            thread = Thread.find(keys.thread_pk(thread_id), keys.THREAD)
            if thread is None:
                raise Refusal("THREAD_NOT_FOUND")
            change = decide(thread)
            if change is None or _store(thread, change):
                break
            backoff.wait()
        cache.invalidate(thread_id)


def _store(thread: Thread, change: Change) -> bool:
    rev = {"rev": thread.rev + 1, "updated_at": now()}
    return update(
        thread, Change(set=change.set | rev, remove=change.remove), Thread.rev == thread.rev
    )
