"""What one does to conversations from the list, to one or to many at once, and how to take it back.

The actions are those of threads; here they get the words and the way back.
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

Fields = dict[str, str]
MORNING = 8


@dataclass(frozen=True)
class InboxAction:
    run: Callable[..., Participant | None]
    said: str
    # From the row as it was: the fields that make it so again.
    back: Callable[[Participant], Fields]


@dataclass
class ActionResult:
    """`undo`: what to ask for, each with its threads, to have it as it was."""

    said: str
    undo: list[dict[str, Any]] = field(default_factory=list)


def _to_folder(before: Participant) -> Fields:
    return {"act": FOLDER_ACTS[before.folder]}


def _to_pin(before: Participant) -> Fields:
    return {"act": "pin" if before.pinned else "unpin"}


def _to_mute(before: Participant) -> Fields:
    if not before.is_muted:
        return {"act": "unmute"}
    return {"act": "mute", "until": before.muted_until or ""}


def _to_unread(before: Participant) -> Fields:
    return {"act": "unread" if before.has_unread else "read"}


# A request that is moved back goes to the requests by itself.
FOLDER_ACTS = {INBOX: "restore", REQUESTS: "restore", ARCHIVED_FOLDER: "archive", SPAM: "spam"}
INBOX_ACTIONS = {
    "archive": InboxAction(folders.archive_thread, "Archived", _to_folder),
    "restore": InboxAction(folders.restore_thread, "Moved to the inbox", _to_folder),
    "spam": InboxAction(folders.mark_spam, "Moved to spam", _to_folder),
    "pin": InboxAction(folders.pin_thread, "Pinned", _to_pin),
    "unpin": InboxAction(folders.unpin_thread, "No longer pinned", _to_pin),
    "mute": InboxAction(folders.mute_thread, "Muted", _to_mute),
    "unmute": InboxAction(folders.unmute_thread, "No longer muted", _to_mute),
    "unread": InboxAction(folders.mark_unread, "Marked as unread", _to_unread),
    "read": InboxAction(mark_all_read, "Marked as read", _to_unread),
}


def run_action(user: User, act: str, thread_ids: list[str], **more: Any) -> ActionResult:
    """Each by itself: of those that are no longer one's own, one cannot be kept from the others."""
    undo: dict[tuple[tuple[str, str], ...], list[str]] = {}
    missing = None
    done = 0
    for thread_id in thread_ids:
        try:
            before = INBOX_ACTIONS[act].run(user, thread_id=thread_id, **more)
        except Refusal as refusal:
            if refusal.code != "THREAD_NOT_FOUND":
                raise
            missing = refusal
            continue
        done += 1
        if before is not None:
            back = tuple(INBOX_ACTIONS[act].back(before).items())
            undo.setdefault(back, []).append(thread_id)
    if missing and not done:
        raise missing
    back_again = [dict(back) | {"thread": threads} for back, threads in undo.items()]
    return ActionResult(_said(act, done), back_again)


def _said(act: str, done: int) -> str:
    what = "conversation" if done == 1 else "conversations"
    return INBOX_ACTIONS[act].said if done == 1 else f"{INBOX_ACTIONS[act].said}: {done} {what}"


def muted_until(how_long: str) -> str | None:
    """None is for good. A morning is one of the reader's own zone."""
    now = timezone.localtime()
    if how_long == "hour":
        return keys.iso(now + timedelta(hours=1))
    if how_long == "tomorrow":
        morning = (now + timedelta(days=1)).replace(hour=MORNING, minute=0, second=0, microsecond=0)
        return keys.iso(morning)
    return None
