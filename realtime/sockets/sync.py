"""Catching up: what a client that was away has missed, so that its page equals a fresh one."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson

from accounts.models import User
from realtime.broadcast.events import Event, ThreadSynced
from threads.actions.drafts import draft_changed, find_draft
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.events import list_cursors, message_sent, revision_fields
from threads.models import Message, Thread
from threads.models.packs import allow_placeholders
from threads.policy import record_texts
from threads.queries import OpenedThread, catch_up, list_changed, open_thread

# What a frame to a client has at most; what is longer comes in pages.
MAX_SYNC_BYTES = 256 * 1024
# Of it for messages: one alone, made of nothing but links, takes 150 KB.
ROOM = 200 * 1024

# Of which the last few of each author are remembered: what is split over messages is read as one.
RECENT = 12

Show = Callable[[Message, CachedThread], Any]


@dataclass
class SyncFrame:
    """What goes into one frame. Made one by one: what does not fit is not rendered in vain."""

    state: CachedThread
    room: int = ROOM
    changed: list[Any] = field(default_factory=list)
    messages: list[Any] = field(default_factory=list)

    def take_changed(self, messages: list[Message]) -> bool:
        """Whether it took all. By `rev`, so that a client can go on from the last that it got."""
        return self._take(self.changed, messages, revision_fields)

    def take_messages(self, messages: list[Message]) -> bool:
        return self._take(self.messages, messages, message_sent)

    def _take(self, taken: list[Any], messages: Iterable[Message], show: Show) -> bool:
        for message in messages:
            shown: Any = show(message, self.state)
            size = len(orjson.dumps(shown))
            if size > self.room and (self.changed or self.messages):
                return False
            self.room -= size
            taken.append(shown)
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
            event = _begin(opened)
    record_texts(opened.messages[-RECENT:])
    draft = find_draft(user, thread_id)
    if draft is None:
        return [event]
    return [event, draft_changed(thread_id, draft.text, draft.version)]


def _begin(opened: OpenedThread) -> ThreadSynced:
    """The newest that fit; what is above them is an older page, as it is for everybody."""
    parcel = SyncFrame(opened.cached)
    parcel.take_messages(opened.messages[::-1])
    parcel.messages.reverse()
    return build_synced(opened, parcel)


def _catch_up(opened: OpenedThread, after: str, oldest: str | None, rev: int) -> ThreadSynced:
    if not oldest:
        return _filled(opened, [], opened.messages, more=opened.has_newer)
    changes = list_changed(opened, oldest=oldest, newest=after, since=rev)
    event = _filled(opened, changes.messages, opened.messages, more=opened.has_newer)
    if changes.window_from:
        event["window_from"] = changes.window_from
    return event


def _filled(
    opened: OpenedThread, changed: list[Message], messages: list[Message], *, more: bool
) -> ThreadSynced:
    parcel = SyncFrame(opened.cached)
    if not parcel.take_changed(changed):
        return build_synced(opened, parcel, rev=parcel.changed[-1]["rev"], more=True)
    has_all = parcel.take_messages(messages)
    return build_synced(opened, parcel, more=more or not has_all)


def sync_if_behind(user: User, *, thread_id: str, seq: int, rev: int) -> Event | None:
    """For a heartbeat: a look at the thread, and a page only if the client has not all of it."""
    thread = Thread.find(keys.thread_pk(thread_id), keys.THREAD)
    if thread is None or (thread.last_seq <= seq and thread.rev <= rev):
        return None
    with allow_placeholders():
        opened = open_thread(user, thread_id)
    if not _reaches(opened, seq, rev):
        # It lacks more than this page holds. What came before must not be left out: let it ask.
        return build_synced(opened, SyncFrame(opened.cached), rev=rev, more=True)
    changed = [message for message in opened.messages if message.rev > rev and message.seq <= seq]
    missed = [message for message in opened.messages if message.seq > seq]
    return _filled(opened, sorted(changed, key=lambda one: one.rev), missed, more=False)


def _reaches(opened: OpenedThread, seq: int, rev: int) -> bool:
    if not opened.has_older:
        return True
    return opened.cached.thread.rev <= rev and opened.messages[0].seq <= seq + 1


def _versions(opened: OpenedThread) -> dict[str, int]:
    """Of the tabs that this person may see; whoever was added has no panel."""
    if opened.me.user_id not in opened.cached.thread.parties:
        return {}
    return {name: tab.version for name, tab in opened.cached.tabs.items()}


def build_synced(
    opened: OpenedThread, parcel: SyncFrame, *, rev: int | None = None, more: bool = False
) -> ThreadSynced:
    thread, me = opened.cached.thread, opened.me
    own = {"user": me.user_id, "delivered_seq": me.delivered_seq, "read_seq": me.last_read_seq}
    return ThreadSynced(
        type="thread.synced",
        thread=thread.id,
        messages=parcel.messages,
        changed=parcel.changed,
        cursors=[own, *list_cursors(opened, reader_id=me.user_id)],
        status=thread.status,
        tabs=_versions(opened),
        rev=thread.rev if rev is None else rev,
        last_seq=thread.last_seq,
        more=more,
    )
