"""A thread as staff read it, under a case. Whether they may is for the caller to see to: nothing
here asks who reads. What people no longer see (hidden, removed, before an edit) is shown here."""

import json
from typing import Any

from accounts.models import User
from accounts.refusals import Refusal
from threads import state as states
from threads.models import Message, keys
from threads.models.table import Item, get_many, query
from threads.queries import get_message, open_thread
from threads.state import ThreadState

AROUND = 5
NEWEST = 10
PAGE = 50
# What one report copies, at most; the reported message itself is always whole.
MAX_EVIDENCE_BYTES = 128 * 1024


def reported(reporter: User, thread_id: str, message_id: str = "") -> dict[str, Any]:
    """What somebody of the thread reports: the message and what is around it, or the newest; not
    more than they can see themselves."""
    opened = open_thread(reporter, thread_id)
    messages = opened.messages[-NEWEST:]
    if message_id:
        message = get_message(reporter, thread_id, message_id)
        around = read_around(thread_id, message.id)
        messages = [one for one in around if one.seq >= opened.me.visible_from_seq]
    return bound(snapshot(opened.state, messages, message_id))


def bound(shown: dict[str, Any]) -> dict[str, Any]:
    """Leaves out the messages furthest from the reported one (or the oldest) until it fits."""
    messages = shown["messages"]
    ids = [message["id"] for message in messages]
    while len(messages) > 1 and _bytes(shown) > MAX_EVIDENCE_BYTES:
        about = ids.index(shown["about"]) if shown["about"] in ids else len(ids) - 1
        furthest = 0 if about >= len(ids) - 1 - about else len(ids) - 1
        del messages[furthest], ids[furthest]
        shown["left_out"] = shown.get("left_out", 0) + 1
    return shown


def _bytes(shown: dict[str, Any]) -> int:
    return len(json.dumps(shown, ensure_ascii=False, default=str).encode())


def snapshot(state: ThreadState, messages: list[Message], about: str = "") -> dict[str, Any]:
    thread = state.thread
    return {
        "thread": {"id": thread.id, "subject": thread.subject, "kind": thread.kind},
        "people": [
            {"id": one.user_id, "name": one.person["name"], "role": one.role}
            for one in state.people.values()
        ],
        "about": about,
        "messages": [described(message, state) for message in messages],
    }


def described(message: Message, state: ThreadState) -> dict[str, Any]:
    author = state.name_of(message.author_id) if message.author_id else None
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


def read_state(thread_id: str) -> ThreadState:
    state = states.read(thread_id)
    if state is None:
        raise Refusal("THREAD_NOT_FOUND")
    return state


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
