"""What follows when a message takes the talk, or the money, out of the marketplace: a word to its
author, then a pause, then it is not sent. All of it before a booking is agreed, none after.

It costs a send no request: what it writes goes into the same transaction, and the few texts before
this one are remembered here, by the process that stored or showed them.
"""

import threading
from collections import OrderedDict, deque
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.db import connection

from core.outbox.models import OutboxEntry
from core.refusals import Refusal
from detection import Verdict, judge
from files.names import meaningful_name
from threads import outbox_handlers
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.models import Message, Thread
from threads.models.participant import ADMIN
from threads.models.thread import INQUIRY
from threads.rendering.attachments import LINK
from threads.rendering.notices import POLICY_EXPLANATION, describe_reasons
from threads.sending.new_message import NewMessage, now_ms

MAX_RECENT_TEXTS = 4
# The rung of what the model takes for an attempt and no rule does.
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


def apply_policy(line: NewMessage, cached: CachedThread) -> NewMessage:
    """The line with what it costs its author, or a refusal."""
    author = cached.people[line.author_id or ""]
    if not applies_to(cached.thread) or author.role == ADMIN:
        return line
    said, verdict = _worst(line, list_recent_texts(cached.thread.id, author.user_id))
    if not verdict.is_found:
        return line
    return apply_strike(line, verdict, said, strikes=(author.strikes or 0) + 1)


def _worst(line: NewMessage, before: list[str]) -> tuple[str, Verdict]:
    """Of its words, and of what its files and links are called, which is read after them."""
    found = [(line.body, judge(line.body, before))]
    for attached in line.attachments:
        words = _words_of(attached)
        found.append((words, judge(words, [*before, line.body])))
    return max(found, key=lambda one: (one[1].score, one[1].is_found))


def _words_of(attached: dict[str, Any]) -> str:
    if attached["kind"] == LINK:
        return f"{attached['title']}\n{attached['url']}"
    return meaningful_name(attached["name"])


def apply_strike(line: NewMessage, verdict: Verdict, said: str, *, strikes: int) -> NewMessage:
    if not verdict.is_sure:
        # A guess is worth a word, and no more: it does not count, however many there are.
        return replace(line, flags={"policy": verdict.reasons, "strike": GUESSED})
    if strikes >= settings.POLICY_BLOCK_AT or verdict.score >= settings.POLICY_GROSS:
        raise PolicyBlocked(verdict, said)
    flags = {"policy": verdict.reasons, "strike": strikes}
    author_changes: dict[str, Any] = {"strikes": strikes}
    if strikes > 1:
        pause = settings.POLICY_COOL_DOWN
        author_changes["blocked_until"] = keys.iso(keys.datetime_from_ms(now_ms() + 1000 * pause))
    return replace(line, flags=flags, author_changes=author_changes)


def check_text(thread: Thread, *texts: str, what: str = "Not sent: this") -> None:
    """For what is not a message: an edit, an offer, a card."""
    text = "\n".join(texts)
    verdict = judge(text) if applies_to(thread) else Verdict()
    if verdict.is_sure:
        raise PolicyBlocked(verdict, text, what=what)


def check_file_name(thread: Thread, called: str) -> None:
    check_text(thread, meaningful_name(called), what="The name of this file")


def open_case(blocked: PolicyBlocked, *, thread_id: str, author_id: str) -> None:
    """Staff look at it, and until they have, its author writes nothing more there."""
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
        outbox_handlers.process_entry(OutboxEntry.objects.create(kind="case", payload=payload))
    finally:
        # A socket's commands run on threads that otherwise hold no connection to SQL.
        if not connection.in_atomic_block:
            connection.close()


# --- The last few texts of an author in a thread


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
