"""A thread as staff read it, under a case. Whether they may is for the caller to see to: nothing
here asks who reads. What people no longer see (hidden, removed, before an edit) is shown here."""

import json
from bisect import bisect_right
from typing import Any

from accounts.models import User
from core.refusals import Refusal
from threads import cache
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.dynamodb.table import Item, get_many, query
from threads.models import Message
from threads.queries import get_message, open_thread

AROUND = 5
NEWEST = 10
PAGE = 50
# One report copies at most this much.
MAX_EVIDENCE_BYTES = 128 * 1024
# One message with its earlier bodies; its own body, of at most MAX_BODY characters, always fits.
MAX_MESSAGE_BYTES = 64 * 1024
SEPARATOR_BYTES = len(", ")


def collect_evidence(reporter: User, thread_id: str, message_id: str = "") -> dict[str, Any]:
    """What somebody of the thread reports: the message and what is around it, or the newest; not
    more than they can see themselves."""
    opened = open_thread(reporter, thread_id)
    messages = opened.messages[-NEWEST:]
    if message_id:
        message = get_message(reporter, thread_id, message_id)
        around = read_around(thread_id, message.id)
        messages = [one for one in around if one.seq >= opened.me.visible_from_seq]
    return limit_evidence(snapshot(opened.cached, messages, message_id))


def limit_evidence(shown: dict[str, Any], limit: int = MAX_EVIDENCE_BYTES) -> dict[str, Any]:
    """Trims earlier bodies, then leaves out the messages furthest from the reported one (or the
    oldest) until it fits. One message, or a field without a rule, may still exceed the limit."""
    if "messages" in shown:
        messages = [_trim_earlier(message) for message in shown["messages"]]
        return _drop_furthest(shown | {"messages": messages}, limit)
    return _trim_text(shown, limit) if "text" in shown else shown


def _trim_earlier(message: dict[str, Any]) -> dict[str, Any]:
    """Leaves out the oldest versions of a message, and counts them."""
    earlier = message.get("earlier", [])
    left_out = message.get("earlier_left_out", 0)
    room = MAX_MESSAGE_BYTES - count_bytes(
        message | {"earlier": [], "earlier_left_out": left_out + len(earlier)}
    )
    kept: list[Any] = []
    for version in reversed(earlier):
        room -= count_bytes(version) + SEPARATOR_BYTES
        if room < 0:
            left_out += len(earlier) - len(kept)
            return message | {"earlier": kept[::-1], "earlier_left_out": left_out}
        kept.append(version)
    return message


def _drop_furthest(shown: dict[str, Any], limit: int) -> dict[str, Any]:
    messages, left_out = shown["messages"], shown.get("left_out", 0)
    ids = [message["id"] for message in messages]
    about = ids.index(shown["about"]) if shown["about"] in ids else len(ids) - 1
    size = count_bytes(shown | {"left_out": left_out + len(messages)})
    first, last = 0, len(messages) - 1
    while first < last and size > limit:
        furthest = first if about - first >= last - about else last
        size -= count_bytes(messages[furthest]) + SEPARATOR_BYTES
        first, last = (first + 1, last) if furthest == first else (first, last - 1)
    kept = messages[first : last + 1]
    if len(kept) == len(messages):
        return shown
    left_out += len(messages) - len(kept)
    return shown | {"messages": kept, "left_out": left_out}


def _trim_text(shown: dict[str, Any], limit: int) -> dict[str, Any]:
    """Cuts the end of a text that was never sent, and counts the characters."""
    if count_bytes(shown) <= limit:
        return shown
    text, left_out = shown["text"], shown.get("text_left_out", 0)
    empty = shown | {"text": "", "text_left_out": left_out + len(text)}
    room = limit - count_bytes(empty) + count_bytes("")
    fits = bisect_right(range(len(text)), room, key=lambda end: count_bytes(text[:end]))
    kept = text[: max(fits - 1, 0)]
    return shown | {"text": kept, "text_left_out": left_out + len(text) - len(kept)}


def count_bytes(content: Any) -> int:
    return len(json.dumps(content, ensure_ascii=False, default=str).encode())


def snapshot(cached: CachedThread, messages: list[Message], about: str = "") -> dict[str, Any]:
    thread = cached.thread
    return {
        "thread": {"id": thread.id, "subject": thread.subject, "kind": thread.kind},
        "people": [
            {"id": one.user_id, "name": one.person["name"], "role": one.role}
            for one in cached.people.values()
        ],
        "about": about,
        "messages": [describe_message(message, cached) for message in messages],
    }


def describe_message(message: Message, cached: CachedThread) -> dict[str, Any]:
    author = cached.get_person(message.author_id) if message.author_id else None
    return {
        "id": message.id,
        "seq": message.seq,
        "author": message.author_id or "",
        "name": author["name"] if author else "Parley",
        "type": message.type,
        "body": message.body or "",
        "attachments": message.attachments or [],
        "earlier": message.earlier_bodies or [],
        "created_at": message.created_at,
        "edited_at": message.edited_at or "",
        "removed_at": message.removed_at or "",
        "hidden_at": message.hidden_at or "",
        "flags": message.flags or {},
    }


def load_thread(thread_id: str) -> CachedThread:
    cached = cache.load(thread_id)
    if cached is None:
        raise Refusal("THREAD_NOT_FOUND")
    return cached


def read_around(thread_id: str, message_id: str, around: int = AROUND) -> list[Message]:
    pk, sk = keys.thread_pk(thread_id), keys.message_sk(message_id)
    before = query(pk, Item.sk.between(keys.MESSAGES, sk), limit=around + 1, newest_first=True)
    after = query(pk, Item.sk.between(sk, f"{keys.MESSAGES}~"), limit=around + 1)
    return before.of(Message)[::-1] + [m for m in after.of(Message) if m.id != message_id]


def read_page(thread_id: str, before: str = "") -> list[Message]:
    """Fifty, oldest first: the newest, or those before a message."""
    last = keys.message_sk(before) if before else f"{keys.MESSAGES}~"
    page = query(
        keys.thread_pk(thread_id),
        Item.sk.between(keys.MESSAGES, last),
        limit=PAGE + 1,
        newest_first=True,
    )
    return [message for message in page.of(Message) if message.id != before][:PAGE][::-1]


def read_messages(thread_id: str, message_ids: list[str]) -> dict[str, Message]:
    """As they are now."""
    pk = keys.thread_pk(thread_id)
    found = get_many([(pk, keys.message_sk(message_id)) for message_id in message_ids])
    return {item.id: item for item in found if isinstance(item, Message)}
