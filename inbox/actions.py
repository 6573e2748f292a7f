"""Actions on one or more rows of the inbox, each with its message and its undo.

The changes themselves are in threads.actions.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.utils import timezone

from accounts.models import User
from core.refusals import Refusal
from threads.actions import folders
from threads.actions.cursors import mark_all_read
from threads.dynamodb import keys
from threads.models import Participant
from threads.models.participant import ARCHIVED_FOLDER, INBOX, REQUESTS, SPAM

# Fields of InboxActionForm.
Fields = dict[str, str]
MORNING_HOUR = 8


@dataclass(frozen=True)
class InboxAction:
    run: Callable[..., Participant | None]
    message: str
    # Makes the fields of the action that restores a row from what it was before.
    undo: Callable[[Participant], Fields]


@dataclass
class ActionResult:
    message: str
    # Fields of the actions that restore the rows, each with its threads.
    undo: list[dict[str, Any]] = field(default_factory=list)


def _undo_move(before: Participant) -> Fields:
    return {"act": FOLDER_ACTIONS[before.folder]}


def _undo_pin(before: Participant) -> Fields:
    return {"act": "pin" if before.pinned else "unpin"}


def _undo_mute(before: Participant) -> Fields:
    if not before.is_muted:
        return {"act": "unmute"}
    return {"act": "mute", "until": before.muted_until or ""}


def _undo_read(before: Participant) -> Fields:
    return {"act": "unread" if before.has_unread else "read"}


# `restore` moves a request back to the requests folder.
FOLDER_ACTIONS = {INBOX: "restore", REQUESTS: "restore", ARCHIVED_FOLDER: "archive", SPAM: "spam"}
INBOX_ACTIONS = {
    "archive": InboxAction(folders.archive_thread, "Archived", _undo_move),
    "restore": InboxAction(folders.restore_thread, "Moved to the inbox", _undo_move),
    "spam": InboxAction(folders.mark_spam, "Moved to spam", _undo_move),
    "pin": InboxAction(folders.pin_thread, "Pinned", _undo_pin),
    "unpin": InboxAction(folders.unpin_thread, "Unpinned", _undo_pin),
    "mute": InboxAction(folders.mute_thread, "Muted", _undo_mute),
    "unmute": InboxAction(folders.unmute_thread, "Unmuted", _undo_mute),
    "unread": InboxAction(folders.mark_unread, "Marked as unread", _undo_read),
    "read": InboxAction(mark_all_read, "Marked as read", _undo_read),
}


def run_action(user: User, act: str, thread_ids: list[str], **arguments: Any) -> ActionResult:
    """Changes each thread on its own, and skips those that are no longer accessible to the user."""
    undo: dict[tuple[tuple[str, str], ...], list[str]] = {}
    missing = None
    done = 0
    for thread_id in thread_ids:
        try:
            before = INBOX_ACTIONS[act].run(user, thread_id=thread_id, **arguments)
        except Refusal as refusal:
            if refusal.code != "THREAD_NOT_FOUND":
                raise
            missing = refusal
            continue
        done += 1
        if before is not None:
            fields = tuple(INBOX_ACTIONS[act].undo(before).items())
            undo.setdefault(fields, []).append(thread_id)
    if missing and not done:
        raise missing
    steps = [dict(fields) | {"thread": threads} for fields, threads in undo.items()]
    return ActionResult(_message(act, done), steps)


def _message(act: str, done: int) -> str:
    message = INBOX_ACTIONS[act].message
    return message if done == 1 else f"{message}: {done} conversations"


def muted_until(how_long: str) -> str | None:
    """None means until unmuted. The morning is in the user's own time zone."""
    now = timezone.localtime()
    if how_long == "hour":
        return keys.iso(now + timedelta(hours=1))
    if how_long == "tomorrow":
        morning = (now + timedelta(days=1)).replace(
            hour=MORNING_HOUR, minute=0, second=0, microsecond=0
        )
        return keys.iso(morning)
    return None
