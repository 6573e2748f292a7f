"""The policy for messages that try to move contact or payment off the marketplace.

The author gets a notice, then a pause, then the message is not sent. The policy applies until a
booking is agreed. It costs a send no request: its writes are part of the send's transaction, and
the author's last few texts are cached by the process that stored or showed them.
"""

import threading
from collections import OrderedDict, deque
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.db import connection

from core.outbox import processing
from core.outbox.models import OutboxEntry
from core.refusals import Refusal
from detection import Verdict, judge
from files.names import meaningful_name
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.models import Message, Thread
from threads.models.participant import ADMIN
from threads.models.thread import INQUIRY
from threads.rendering.attachments import LINK
from threads.rendering.notices import POLICY_EXPLANATION, describe_reasons
from threads.sending.new_message import NewMessage, now_ms

MAX_RECENT_TEXTS = 4
# The strike of a message that only the model, and no rule, takes for an attempt.
GUESSED = 0
MAX_AUTHORS = 10_000

_recent: OrderedDict[tuple[str, str], deque[str]] = OrderedDict()
_lock = threading.Lock()


class PolicyBlocked(Refusal):
    def __init__(self, verdict: Verdict, text: str, *, what: str = "Not sent: this") -> None:
        self.verdict, self.text = verdict, text
        super().__init__(
            "MSG_POLICY_BLOCKED",
            f"{what} looks like {describe_reasons(verdict.reasons)}.",
            hint=POLICY_EXPLANATION,
        )


def applies_to(thread: Thread) -> bool:
    return bool(thread.kind == INQUIRY and not thread.leg_id)


def apply_policy(new_message: NewMessage, cached: CachedThread) -> NewMessage:
    """The message with its policy flags and the author's strikes; raises PolicyBlocked."""
    author = cached.people[new_message.author_id or ""]
    if not applies_to(cached.thread) or author.role == ADMIN:
        return new_message
    text, verdict = _worst(new_message, list_recent_texts(cached.thread.id, author.user_id))
    if not verdict.is_found:
        return new_message
    return apply_strike(new_message, verdict, text, strikes=(author.strikes or 0) + 1)


def _worst(new_message: NewMessage, before: list[str]) -> tuple[str, Verdict]:
    """The worst verdict on the text, and on the names of its files and links."""
    found = [(new_message.body, judge(new_message.body, before))]
    for attached in new_message.attachments:
        names = _names_of(attached)
        found.append((names, judge(names, [*before, new_message.body])))
    return max(found, key=lambda one: (one[1].score, one[1].is_found))


def _names_of(attached: dict[str, Any]) -> str:
    if attached["kind"] == LINK:
        return f"{attached['title']}\n{attached['url']}"
    return meaningful_name(attached["name"])


def apply_strike(
    new_message: NewMessage, verdict: Verdict, text: str, *, strikes: int
) -> NewMessage:
    if not verdict.is_sure:
        # An uncertain verdict gives a notice only and never counts as a strike.
        return replace(new_message, flags={"policy": verdict.reasons, "strike": GUESSED})
    if strikes >= settings.POLICY_BLOCK_AT or verdict.score >= settings.POLICY_GROSS:
        raise PolicyBlocked(verdict, text)
    flags = {"policy": verdict.reasons, "strike": strikes}
    author_changes: dict[str, Any] = {"strikes": strikes}
    if strikes > 1:
        pause = settings.POLICY_COOL_DOWN
        author_changes["blocked_until"] = keys.iso(keys.datetime_from_ms(now_ms() + 1000 * pause))
    return replace(new_message, flags=flags, author_changes=author_changes)


def check_text(thread: Thread, *texts: str, what: str = "Not sent: this") -> None:
    """Checks texts other than new messages: edits, offers and cards."""
    text = "\n".join(texts)
    verdict = judge(text) if applies_to(thread) else Verdict()
    if verdict.is_sure:
        raise PolicyBlocked(verdict, text, what=what)


def check_file_name(thread: Thread, called: str) -> None:
    check_text(thread, meaningful_name(called), what="The name of this file")


def open_case(blocked: PolicyBlocked, *, thread_id: str, author_id: str) -> None:
    """Opens a case for staff, with a sending hold of the author in this thread."""
    payload = {
        "about": "circumvention",
        "thread": thread_id,
        "person": author_id,
        "reason": "off_site",
        "hold": f"Your message looks like {describe_reasons(blocked.verdict.reasons)}."
        if thread_id
        else "",
        "shown": {"text": blocked.text, "reasons": blocked.verdict.reasons},
    }
    try:
        processing.process_entry(OutboxEntry.objects.create(kind="case", payload=payload))
    finally:
        # Socket commands run on threads that otherwise have no SQL connection.
        if not connection.in_atomic_block:
            connection.close()


# --- The recent texts of an author in a thread


def list_recent_texts(thread_id: str, author_id: str) -> list[str]:
    with _lock:
        return list(_recent.get((thread_id, author_id), ()))


def record_texts(messages: Iterable[Message]) -> None:
    with _lock:
        for message in messages:
            if message.author_id is None or message.body is None:
                continue
            at = (message.thread_id, message.author_id)
            texts = _recent.setdefault(at, deque(maxlen=MAX_RECENT_TEXTS))
            if message.body not in texts:
                texts.append(message.body)
            _recent.move_to_end(at)
        while len(_recent) > MAX_AUTHORS:
            _recent.popitem(last=False)
