"""Sync after a reconnect: what a client has missed, so that its page equals a fresh one."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson

from accounts.models import User
from realtime.broadcast.events import Event, ThreadSynced
from threads import policy
from threads.actions.drafts import draft_changed, find_draft
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.events import list_cursors, message_sent, revision_fields
from threads.models import Message, Thread
from threads.models.packs import allow_placeholders
from threads.queries import OpenedThread, catch_up, list_changed, open_thread

# The limit of a frame to a client; longer results are split into pages.
MAX_SYNC_BYTES = 256 * 1024
# The share of messages; a single message of nothing but links can take 150 KB.
MAX_MESSAGE_BYTES = 200 * 1024

# The newest messages are recorded for the policy, which reads split-up texts as one.
RECENT_MESSAGES = 12

Render = Callable[[Message, CachedThread], Any]


@dataclass
class SyncFrame:
    """The contents of one frame. Messages are rendered one by one, only while they fit."""

    cached: CachedThread
    room: int = MAX_MESSAGE_BYTES
    changed: list[Any] = field(default_factory=list)
    messages: list[Any] = field(default_factory=list)

    def add_changed(self, messages: list[Message]) -> bool:
        """Returns whether all fit. In order of `rev`, so that a client can continue there."""
        return self._add(self.changed, messages, revision_fields)

    def add_messages(self, messages: list[Message]) -> bool:
        return self._add(self.messages, messages, message_sent)

    def _add(self, added: list[Any], messages: Iterable[Message], render: Render) -> bool:
        for message in messages:
            rendered: Any = render(message, self.cached)
            size = len(orjson.dumps(rendered))
            if size > self.room and (self.changed or self.messages):
                return False
            self.room -= size
            added.append(rendered)
        return True


def open_and_sync(
    user: User, *, thread_id: str, after: str | None, oldest: str | None, rev: int | None
) -> list[Event]:
    with allow_placeholders():
        if after:
            opened = catch_up(user, thread_id, after=after)
            event = _catch_up(opened, after, oldest, rev or 0)
        else:
            opened = open_thread(user, thread_id)
            event = _newest(opened)
    policy.record_texts(opened.messages[-RECENT_MESSAGES:])
    draft = find_draft(user, thread_id)
    if draft is None:
        return [event]
    return [event, draft_changed(thread_id, draft.text, draft.version)]


def _newest(opened: OpenedThread) -> ThreadSynced:
    """The newest messages that fit; the client loads older ones as older pages."""
    frame = SyncFrame(opened.cached)
    frame.add_messages(opened.messages[::-1])
    frame.messages.reverse()
    return build_synced(opened, frame)


def _catch_up(opened: OpenedThread, after: str, oldest: str | None, rev: int) -> ThreadSynced:
    if not oldest:
        return _fill(opened, [], opened.messages, more=opened.has_newer)
    changes = list_changed(opened, oldest=oldest, newest=after, since=rev)
    event = _fill(opened, changes.messages, opened.messages, more=opened.has_newer)
    if changes.window_from:
        event["window_from"] = changes.window_from
    return event


def _fill(
    opened: OpenedThread, changed: list[Message], messages: list[Message], *, more: bool
) -> ThreadSynced:
    frame = SyncFrame(opened.cached)
    if not frame.add_changed(changed):
        return build_synced(opened, frame, rev=frame.changed[-1]["rev"], more=True)
    has_all = frame.add_messages(messages)
    return build_synced(opened, frame, more=more or not has_all)


def sync_if_behind(user: User, *, thread_id: str, seq: int, rev: int) -> Event | None:
    """For a heartbeat: reads the thread, and a page only if the client lacks something."""
    thread = Thread.find(keys.thread_pk(thread_id), keys.THREAD)
    if thread is None or (thread.last_seq <= seq and thread.rev <= rev):
        return None
    with allow_placeholders():
        opened = open_thread(user, thread_id)
    if not _covers(opened, seq, rev):
        # The client lacks more than this page has: an empty frame makes it request a sync.
        return build_synced(opened, SyncFrame(opened.cached), rev=rev, more=True)
    changed = [message for message in opened.messages if message.rev > rev and message.seq <= seq]
    missed = [message for message in opened.messages if message.seq > seq]
    return _fill(opened, sorted(changed, key=lambda one: one.rev), missed, more=False)


def _covers(opened: OpenedThread, seq: int, rev: int) -> bool:
    """Whether the page has everything that a client at this position lacks."""
    if not opened.has_older:
        return True
    return opened.cached.thread.rev <= rev and opened.messages[0].seq <= seq + 1


def _tab_versions(opened: OpenedThread) -> dict[str, int]:
    """Only for the parties of a booking, who have access to the panel."""
    if opened.me.user_id not in opened.cached.thread.parties:
        return {}
    return {name: tab.version for name, tab in opened.cached.tabs.items()}


def build_synced(
    opened: OpenedThread, frame: SyncFrame, *, rev: int | None = None, more: bool = False
) -> ThreadSynced:
    thread, me = opened.cached.thread, opened.me
    own = {"user": me.user_id, "delivered_seq": me.delivered_seq, "read_seq": me.last_read_seq}
    return ThreadSynced(
        type="thread.synced",
        thread=thread.id,
        messages=frame.messages,
        changed=frame.changed,
        cursors=[own, *list_cursors(opened, reader_id=me.user_id)],
        status=thread.status,
        tabs=_tab_versions(opened),
        rev=thread.rev if rev is None else rev,
        last_seq=thread.last_seq,
        more=more,
    )
