"""What this process believes of a thread, so that a send needs no read.

A belief is never trusted: every write carries it as a condition, and a wrong one fails, brings the
current items along and is tried again. The beliefs are kept for the threads used last.
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

MAX_ENTRIES = 10_000


@dataclass
class CachedThread:
    thread: Thread
    people: dict[str, Participant]
    former: dict[str, Person] = field(default_factory=dict)
    # Those who have not accepted yet. They are told nothing, and nothing is told of them.
    invited: dict[str, Invitation] = field(default_factory=dict)
    # Another process wrote here since this was read: what it did to people's cursors is unknown.
    cursors_are_stale: bool = False
    # Messages that others quote, as far as somebody has read them for showing.
    quoted: dict[str, Message] = field(default_factory=dict)
    tabs: dict[str, TabSnapshot] = field(default_factory=dict)

    def copy(self) -> "CachedThread":
        """For whoever shows it, while this process goes on learning."""
        people = {user_id: person.copy() for user_id, person in self.people.items()}
        return CachedThread(
            self.thread.copy(),
            people,
            dict(self.former),
            dict(self.invited),
            self.cursors_are_stale,
            # Never changed in place: a tab that changes is another one.
            tabs=dict(self.tabs),
        )

    def others(self, user_id: str | None) -> list[Participant]:
        return [person for person in self.people.values() if person.user_id != user_id]

    def get_person(self, user_id: str) -> Person:
        if user_id in self.people:
            return self.people[user_id].person
        return self.former.get(user_id) or {"id": user_id, "name": "Somebody", "handle": ""}

    @property
    def is_group(self) -> bool:
        """More than two sides; staff who look in do not make a group of it."""
        return sum(person.role != ADMIN for person in self.people.values()) > 2


_known: OrderedDict[str, CachedThread] = OrderedDict()
_known_lock = threading.Lock()
# Held while a belief takes in what was written: a line and a cursor may come at once.
update_lock = threading.Lock()
# Who is writing to a thread, and who waits for it.
_turns: dict[str, deque[threading.Event]] = {}


def get(thread_id: str) -> CachedThread:
    """The belief, or, cold, one Query for it."""
    return peek(thread_id) or reload(thread_id)


def reload(thread_id: str) -> CachedThread:
    """As the store has it now, whatever was believed."""
    invalidate(thread_id)
    state = load(thread_id)
    if state is None:
        raise Refusal("THREAD_NOT_FOUND")
    return put(state)


def load(thread_id: str) -> CachedThread | None:
    page = query(
        keys.thread_pk(thread_id),
        Item.sk >= keys.PARTICIPANTS,
        limit=1 + len(TAB_NAMES) + MAX_PARTICIPANTS,
        newest_first=True,
    )
    return from_page(page)


def from_page(page: Page) -> CachedThread | None:
    """From the items that a Query over the end of a thread's partition gave."""
    threads = page.of(Thread)
    if not threads:
        return None
    order = {user_id: place for place, user_id in enumerate(threads[0].participants)}
    invited = {person.user_id: person for person in page.of(Invitation)}
    people = {
        person.user_id: person
        for person in page.of(Participant)
        if not isinstance(person, Invitation)
    }
    return CachedThread(
        threads[0],
        # As they came, whichever way they were read.
        dict(sorted(people.items(), key=lambda each: order.get(each[0], len(order)))),
        {former.user_id: former.person for former in page.of(FormerParticipant)},
        invited,
        tabs={tab.name: tab for tab in page.of(TabSnapshot)},
    )


def put(cached: CachedThread) -> CachedThread:
    """Older news never replaces newer: a page read before a send must not undo what it taught."""
    with _known_lock:
        before = _known.get(cached.thread.id)
        if before is not None and before is not cached:
            if _place(before) > _place(cached):
                return before
            _keep_newer_cursors(before, cached)
        _known[cached.thread.id] = cached
        _known.move_to_end(cached.thread.id)
        while len(_known) > MAX_ENTRIES:
            _known.popitem(last=False)
    return cached


def _place(cached: CachedThread) -> tuple[int, int]:
    return cached.thread.last_seq, cached.thread.rev


def _keep_newer_cursors(before: CachedThread, cached: CachedThread) -> None:
    for user_id, person in before.people.items():
        now = cached.people.get(user_id)
        if now is None or person.last_read_seq <= now.last_read_seq:
            continue
        if person.last_seq == now.last_seq:
            cached.people[user_id] = person
        else:
            # Which of the lines in between are this person's own is not known.
            cached.cursors_are_stale = True


def invalidate(thread_id: str) -> None:
    with _known_lock:
        _known.pop(thread_id, None)


def peek(thread_id: str) -> CachedThread | None:
    with _known_lock:
        state = _known.get(thread_id)
        if state is not None:
            _known.move_to_end(thread_id)
        return state


def update_participant(person: Participant) -> None:
    """A participant as the store gave it, after a write of this process to that item alone."""
    cached = peek(person.thread_id)
    if cached is None:
        return
    with update_lock:
        believed = cached.people.get(person.user_id)
        if believed is None:
            return
        if believed.last_seq <= person.last_seq:
            cached.people[person.user_id] = person.copy()
        elif believed.last_read_seq < person.last_read_seq:
            # Lines were sent since. Which of them are this person's own is not known.
            cached.cursors_are_stale = True


def apply_event(event: Any) -> None:
    """From another process, as told to somebody here: what it changed is no longer believed."""
    kind, thread_id = event["type"], event.get("thread", "")
    if kind == "cursor.moved":
        _learn_cursor(event)
    elif kind.startswith(("message.", "thread.", "panel.", "card.")):
        invalidate(thread_id)


def _learn_cursor(event: Any) -> None:
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
    """The same for whoever has something else to do meanwhile: whether it is theirs."""
    mine = threading.Event()
    with _known_lock:
        is_mine = thread_id not in _turns
        if is_mine:
            _turns[thread_id] = deque([mine])
    try:
        yield is_mine
    finally:
        if is_mine:
            _pass_on(thread_id, mine)


@contextmanager
def write_lock(thread_id: str, *, patience: float = 10.0) -> Iterator[None]:
    """This process writes one thread's messages one after the other, first come, first served:
    no races with itself, and nobody who writes much keeps the others waiting."""
    mine = threading.Event()
    with _known_lock:
        queue = _turns.setdefault(thread_id, deque())
        queue.append(mine)
        queue[0].set()
    try:
        if not mine.wait(patience):
            raise Refusal("TRY_AGAIN")
        yield
    finally:
        _pass_on(thread_id, mine)


def _pass_on(thread_id: str, mine: threading.Event) -> None:
    with _known_lock:
        queue = _turns[thread_id]
        queue.remove(mine)
        if queue:
            queue[0].set()
        else:
            del _turns[thread_id]
