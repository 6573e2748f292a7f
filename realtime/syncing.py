"""Catching up: what a client that was away has missed, so that its page equals a fresh one."""

from typing import Any

import orjson

from accounts.models import User
from realtime.events import Event, MessageSent, ThreadSynced
from threads.actions.drafts import draft_changed, find_draft
from threads.models import Thread, keys
from threads.queries import Opened, catch_up, list_changed, open_thread
from threads.telling import cursors_of, message_sent, revised

# A frame has at most 256 KB; what is longer comes in pages.
ROOM = 200 * 1024


def open_and_sync(
    user: User, *, thread_id: str, after: str | None, oldest: str | None, rev: int | None
) -> list[Event]:
    opened = catch_up(user, thread_id, after=after) if after else open_thread(user, thread_id)
    changed: list[dict[str, Any]] = []
    if after and oldest:
        window = list_changed(opened, oldest=oldest, newest=after, since=rev or 0)
        changed = [revised(message, opened.state) for message in window]
    messages = [message_sent(message, opened.state) for message in opened.messages]
    kept = _fitting(messages) if after else _fitting(messages[::-1])[::-1]
    more = bool(after) and (opened.has_newer or len(kept) < len(messages))
    events: list[Event] = [synced(opened, kept, changed, more=more)]
    draft = find_draft(user, thread_id)
    if draft is not None:
        events.append(draft_changed(thread_id, draft.text, draft.version))
    return events


def sync_if_behind(user: User, *, thread_id: str, seq: int, rev: int) -> Event | None:
    """For a heartbeat: a look at the thread, and a page only if the client has not all of it."""
    thread = Thread.find(keys.thread_pk(thread_id), keys.THREAD)
    if thread is None or (thread.last_seq <= seq and thread.rev <= rev):
        return None
    opened = open_thread(user, thread_id)
    if not _reaches(opened, seq, rev):
        # It lacks more than this page holds. What came before must not be left out: let it ask.
        event = synced(opened, [], [], more=True)
        event["rev"] = rev
        return event
    changed = [revised(m, opened.state) for m in opened.messages if m.rev > rev and m.seq <= seq]
    messages = [message_sent(m, opened.state) for m in opened.messages if m.seq > seq]
    kept = _fitting(messages)
    return synced(opened, kept, changed, more=len(kept) < len(messages))


def _reaches(opened: Opened, seq: int, rev: int) -> bool:
    if not opened.has_older:
        return True
    return opened.state.thread.rev <= rev and opened.messages[0].seq <= seq + 1


def synced(
    opened: Opened, messages: list[MessageSent], changed: list[dict[str, Any]], *, more: bool
) -> ThreadSynced:
    thread, me = opened.state.thread, opened.me
    own = {"user": me.user_id, "delivered_seq": me.delivered_seq, "read_seq": me.last_read_seq}
    return ThreadSynced(
        type="thread.synced",
        thread=thread.id,
        messages=messages,
        changed=changed,
        cursors=[own, *cursors_of(opened, reader_id=me.user_id)],
        status=thread.status,
        tabs={},
        rev=thread.rev,
        last_seq=thread.last_seq,
        more=more,
    )


def _fitting(messages: list[MessageSent]) -> list[MessageSent]:
    room = ROOM
    for place, message in enumerate(messages):
        room -= len(orjson.dumps(message))
        if room < 0 and place:
            return messages[:place]
    return messages
