"""Cache of threads and their participants, so that a send needs no read.

A cached thread may be stale: every write has its values as conditions, and a failed condition
returns the stored items, with which the cache is corrected before the retry. The most recently used
threads are kept.
"""

import threading
from collections import OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from core.refusals import Refusal
from threads.dynamodb import keys
from threads.dynamodb.table import Item, Page, query
from threads.models import (
    FormerParticipant,
    Invitation,
    Message,
    Participant,
    Person,
    TabSnapshot,
    Thread,
)
from threads.models.participant import ADMIN
from threads.models.tab import TAB_NAMES
from threads.models.thread import MAX_PARTICIPANTS
from threads.recent_sends import RecentSends

MAX_ENTRIES = 10_000


@dataclass
class CachedThread:
    thread: Thread
    people: dict[str, Participant]
    former: dict[str, Person] = field(default_factory=dict)
    # Users who have not accepted yet: they get no events, and no events are published about them.
    invited: dict[str, Invitation] = field(default_factory=dict)
    # Another process has written since the cursors of the participants were read.
    cursors_are_stale: bool = False
    # Quoted messages that were loaded for rendering.
    quoted: dict[str, Message] = field(default_factory=dict)
    tabs: dict[str, TabSnapshot] = field(default_factory=dict)
    sends: RecentSends = field(default_factory=RecentSends)

    def copy(self) -> "CachedThread":
        """A snapshot that later updates of the cache do not change."""
        people = {user_id: person.copy() for user_id, person in self.people.items()}
        return CachedThread(
            self.thread.copy(),
            people,
            dict(self.former),
            dict(self.invited),
            self.cursors_are_stale,
            # Tabs are replaced, never changed in place.
            tabs=dict(self.tabs),
            sends=self.sends.copy(),
        )

    def others(self, user_id: str | None) -> list[Participant]:
        return [person for person in self.people.values() if person.user_id != user_id]

    def get_person(self, user_id: str) -> Person:
        if user_id in self.people:
            return self.people[user_id].person
        return self.former.get(user_id) or {"id": user_id, "name": "Someone", "handle": ""}

    @property
    def is_group(self) -> bool:
        """Whether there are more than two participants besides staff."""
        return sum(person.role != ADMIN for person in self.people.values()) > 2


_entries: OrderedDict[str, CachedThread] = OrderedDict()
_lock = threading.Lock()
# Held while a cached thread is updated: a message and a cursor may be written concurrently.
update_lock = threading.Lock()
# The writer of each thread, followed by those that wait for it.
_writers: dict[str, deque[threading.Event]] = {}


def get(thread_id: str) -> CachedThread:
    """The cached thread, or the stored one, which costs one Query."""
    return peek(thread_id) or reload(thread_id)


def reload(thread_id: str) -> CachedThread:
    """The stored thread, which replaces the cached one."""
    invalidate(thread_id)
    cached = load(thread_id)
    if cached is None:
        raise Refusal("THREAD_NOT_FOUND")
    return put(cached)


def load(thread_id: str) -> CachedThread | None:
    page = query(
        keys.thread_pk(thread_id),
        Item.sk >= keys.PARTICIPANTS,
        limit=1 + len(TAB_NAMES) + MAX_PARTICIPANTS,
        newest_first=True,
    )
    return from_page(page)


def from_page(page: Page) -> CachedThread | None:
    """Builds a cached thread from a Query over the end of a thread's partition."""
    threads = page.of(Thread)
    if not threads:
        return None
    order = {user_id: position for position, user_id in enumerate(threads[0].participants)}
    invited = {person.user_id: person for person in page.of(Invitation)}
    people = {
        person.user_id: person
        for person in page.of(Participant)
        if not isinstance(person, Invitation)
    }
    return CachedThread(
        threads[0],
        # In the order in which they joined, independent of the order of the Query.
        dict(sorted(people.items(), key=lambda each: order.get(each[0], len(order)))),
        {former.user_id: former.person for former in page.of(FormerParticipant)},
        invited,
        tabs={tab.name: tab for tab in page.of(TabSnapshot)},
        sends=_sends_of(page),
    )


def _sends_of(page: Page) -> RecentSends:
    sends = RecentSends()
    for message in sorted(page.of(Message), key=lambda one: one.seq):
        sends.record(message)
    return sends


def put(cached: CachedThread) -> CachedThread:
    """Stores a thread, unless the cache has a newer version; returns the cached one."""
    with _lock:
        before = _entries.get(cached.thread.id)
        if before is not None and before is not cached:
            if _version(before) > _version(cached):
                return before
            _keep_newer_cursors(before, cached)
        _entries[cached.thread.id] = cached
        _entries.move_to_end(cached.thread.id)
        while len(_entries) > MAX_ENTRIES:
            _entries.popitem(last=False)
    return cached


def _version(cached: CachedThread) -> tuple[int, int]:
    return cached.thread.last_seq, cached.thread.rev


def _keep_newer_cursors(before: CachedThread, cached: CachedThread) -> None:
    for user_id, person in before.people.items():
        now = cached.people.get(user_id)
        if now is None or person.last_read_seq <= now.last_read_seq:
            continue
        if person.last_seq == now.last_seq:
            cached.people[user_id] = person
        else:
            # It is unknown how many of the messages in between are the user's own.
            cached.cursors_are_stale = True


def invalidate(thread_id: str) -> None:
    with _lock:
        _entries.pop(thread_id, None)


def peek(thread_id: str) -> CachedThread | None:
    """The cached thread, if there is one, without reading the store."""
    with _lock:
        cached = _entries.get(thread_id)
        if cached is not None:
            _entries.move_to_end(thread_id)
        return cached


def update_participant(person: Participant) -> None:
    """Updates the cache after this process wrote only a participant's item."""
    cached = peek(person.thread_id)
    if cached is None:
        return
    with update_lock:
        before = cached.people.get(person.user_id)
        if before is None:
            return
        if before.last_seq <= person.last_seq:
            cached.people[person.user_id] = person.copy()
        elif before.last_read_seq < person.last_read_seq:
            # It is unknown how many of the messages sent since are the user's own.
            cached.cursors_are_stale = True


def apply_event(event: Any) -> None:
    """Updates or invalidates the cache after an event of another process."""
    kind, thread_id = event["type"], event.get("thread", "")
    if kind == "cursor.moved":
        _apply_cursor(event)
    elif kind.startswith(("message.", "thread.", "panel.", "card.")):
        invalidate(thread_id)


def _apply_cursor(event: Any) -> None:
    cached = peek(event["thread"])
    person = cached.people.get(event["user"]) if cached else None
    if person is None:
        return
    with update_lock:
        if event["read_seq"] >= person.last_read_seq:
            person.last_read_seq = event["read_seq"]
            person.last_read_tally = event["read_tally"]
            person.own_since_read = event["own_since_read"]
        person.delivered_seq = max(person.delivered_seq, event["delivered_seq"])


@contextmanager
def try_write_lock(thread_id: str) -> Iterator[bool]:
    """Takes the write lock only if it is free; yields whether it was taken."""
    turn = threading.Event()
    with _lock:
        is_free = thread_id not in _writers
        if is_free:
            _writers[thread_id] = deque([turn])
    try:
        yield is_free
    finally:
        if is_free:
            _release(thread_id, turn)


@contextmanager
def write_lock(thread_id: str, *, timeout: float = 10.0) -> Iterator[None]:
    """Serialises this process's sends to a thread, first in, first out: they cannot conflict with
    each other, and a busy sender does not starve the others."""
    turn = threading.Event()
    with _lock:
        queue = _writers.setdefault(thread_id, deque())
        queue.append(turn)
        queue[0].set()
    try:
        if not turn.wait(timeout):
            raise Refusal("TRY_AGAIN")
        yield
    finally:
        _release(thread_id, turn)


def _release(thread_id: str, turn: threading.Event) -> None:
    with _lock:
        queue = _writers[thread_id]
        queue.remove(turn)
        if queue:
            queue[0].set()
        else:
            del _writers[thread_id]
