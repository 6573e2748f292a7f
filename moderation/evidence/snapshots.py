"""Copies of threads and messages as evidence, including hidden, removed and edited content.

Callers must check permissions: nothing here does.
"""

from typing import Any

from accounts.models import User
from core.refusals import Refusal
from moderation.evidence.limits import limit_evidence
from threads import cache
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.dynamodb.table import Item, get_many, query
from threads.models import Message
from threads.queries import get_message, open_thread

CONTEXT_MESSAGES = 5
NEWEST_MESSAGES = 10
PAGE_SIZE = 50


def collect_evidence(reporter: User, thread_id: str, message_id: str = "") -> dict[str, Any]:
    """The reported message and its context, or the newest messages of the thread.

    Limited to what the reporter can see.
    """
    opened = open_thread(reporter, thread_id)
    messages = opened.messages[-NEWEST_MESSAGES:]
    if message_id:
        message = get_message(reporter, thread_id, message_id)
        around = read_around(thread_id, message.id)
        messages = [one for one in around if one.seq >= opened.me.visible_from_seq]
    return limit_evidence(snapshot(opened.cached, messages, message_id))


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


def read_around(thread_id: str, message_id: str, around: int = CONTEXT_MESSAGES) -> list[Message]:
    pk, sk = keys.thread_pk(thread_id), keys.message_sk(message_id)
    before = query(pk, Item.sk.between(keys.MESSAGES, sk), limit=around + 1, newest_first=True)
    after = query(pk, Item.sk.between(sk, f"{keys.MESSAGES}~"), limit=around + 1)
    return before.of(Message)[::-1] + [m for m in after.of(Message) if m.id != message_id]


def read_page(thread_id: str, before: str = "") -> list[Message]:
    """A page, oldest first: the newest messages, or those before a message."""
    last = keys.message_sk(before) if before else f"{keys.MESSAGES}~"
    page = query(
        keys.thread_pk(thread_id),
        Item.sk.between(keys.MESSAGES, last),
        limit=PAGE_SIZE + 1,
        newest_first=True,
    )
    return [message for message in page.of(Message) if message.id != before][:PAGE_SIZE][::-1]


def read_messages(thread_id: str, message_ids: list[str]) -> dict[str, Message]:
    """The messages in their current state."""
    pk = keys.thread_pk(thread_id)
    found = get_many([(pk, keys.message_sk(message_id)) for message_id in message_ids])
    return {item.id: item for item in found if isinstance(item, Message)}
