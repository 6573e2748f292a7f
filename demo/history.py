"""Whole past threads, written as sending each of their messages at its time would have left them.

For demo data and for measuring: many messages at once, nobody is told. The messages go first, and
cannot be seen; then the threads with their people appear at once, complete. Every id follows from
the thread's, so that a write which was interrupted is finished by doing it again.
"""

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TypeVar
from uuid import UUID

from django.utils.crypto import salted_hmac
from ulid import ULID

from accounts.models import User
from files.actions import bind_files, reserve_files
from files.models import File
from threads.actions.attachments import MessageAttachments
from threads.actions.folders import placement_change
from threads.actions.messages import clean_body, new_text_message
from threads.actions.start import (
    accept_pair,
    make_pair_thread,
    make_start_marker,
    new_thread,
    start_hash,
)
from threads.archive.work_list import include_earlier_day
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.dynamodb.change import Change
from threads.dynamodb.table import Item, get_many, put_many
from threads.dynamodb.transactions import Transaction, TransactionCancelled
from threads.models import Message, Participant, SentMarker, StartMarker, Thread
from threads.models.participant import ARCHIVED_FOLDER, INBOX
from threads.sending.new_message import (
    MARKER_LIFETIME_SECONDS,
    NewMessage,
    RosterChange,
    make_archive_due,
    make_marker,
    make_message,
)
from threads.sending.rows import (
    CAUGHT_UP_REMOVED_FIELDS,
    caught_up_cursors,
    receiver_change,
    sender_change,
    thread_change,
    waiting_for_change,
)

# Five items each at most appear together, and a transaction takes a hundred.
AT_ONCE = 20
MarkerT = TypeVar("MarkerT", SentMarker, StartMarker)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class HistoryConflict(Exception):
    """A thread is there already, or two people may not talk. Nothing that was there has changed."""


@dataclass(frozen=True)
class PastMessage:
    author_id: str
    body: str
    at: datetime
    files: Sequence[File] = ()


@dataclass(frozen=True)
class PastThread:
    """`unread`: by user id, how many of the other's newest messages this person has not read."""

    id: str
    buyer: User
    seller: User
    subject: str
    messages: Sequence[PastMessage]
    city: str = ""
    unread: Mapping[str, int] = field(default_factory=dict)
    pinned_by: Collection[str] = ()
    archived_by: Collection[str] = ()

    def __post_init__(self) -> None:
        authors = {said.author_id for said in self.messages}
        if not authors <= {self.buyer.id, self.seller.id} or self.buyer.id == self.seller.id:
            raise ValueError("a past thread is between two people")
        if not self.messages or self.messages[0].author_id != self.buyer.id:
            raise ValueError("the buyer begins")

    def read_up_to(self, user_id: str) -> int:
        """The seq of the last message that this person has seen; 0 for none."""
        unread = self.unread.get(user_id, 0)
        if unread == 0:
            return len(self.messages)
        theirs = [seq for seq, said in enumerate(self.messages, 1) if said.author_id != user_id]
        if unread > len(theirs):
            raise ValueError("more unread than was written")
        return theirs[-unread] - 1


def write_history(past: Iterable[PastThread]) -> None:
    waiting = iter(past)
    while group := list(islice(waiting, AT_ONCE)):
        there = list_existing([each.id for each in group])
        if there:
            raise HistoryConflict(f"already there: {', '.join(sorted(there))}")
        replays = [_Replay(each) for each in group]
        put_many(item for replay in replays for item in replay.run())
        for replay in replays:
            _bind(replay.attached)
        _let_appear([replay.state for replay in replays])
        include_earlier_day(min(said.at for each in group for said in each.messages).date())


def list_existing(thread_ids: Collection[str]) -> set[str]:
    found = get_many((keys.thread_pk(thread_id), keys.THREAD) for thread_id in thread_ids)
    return {thread.id for thread in found if isinstance(thread, Thread)}


def _bind(attached: list[tuple[Sequence[File], Message]]) -> None:
    for files, message in attached:
        client_id = message.client_id or ""
        reserve_files(files, client_id=client_id)
        bind_files(files, client_id=client_id, message_id=message.id)


def _let_appear(states: list[CachedThread]) -> None:
    write = Transaction()
    threads = [cached.thread for cached in states]
    # Once a pair: a transaction does not take the same item twice.
    for pair_pk in {keys.pair_pk(thread.buyer_id, thread.seller_id) for thread in threads}:
        accept_pair(write, pair_pk)
    for cached in states:
        write.put(cached.thread.id, cached.thread, Thread.pk.does_not_exist())
        write.put("pair thread", make_pair_thread(cached.thread))
        for person in cached.people.values():
            write.put(person.sk, person)
    try:
        write.commit()
    except TransactionCancelled as cancelled:
        raise HistoryConflict(str(cancelled)) from cancelled


class _Replay:
    """A thread in memory that grows line by line, by the same rules as one in the table."""

    def __init__(self, past: PastThread) -> None:
        self.past = past
        self.read_up_to = {
            person.id: past.read_up_to(person.id) for person in (past.buyer, past.seller)
        }
        self.state: CachedThread
        self.attached: list[tuple[Sequence[File], Message]] = []

    def run(self) -> Iterator[Item]:
        """What there is besides the thread, its people and their pair."""
        yield from self._start()
        for seq, said in enumerate(self.past.messages[1:], 2):
            yield from self._append(seq, said)
        for person in self.state.people.values():
            self._place(person)

    def _start(self) -> Iterator[Item]:
        past, first = self.past, self.past.messages[0]
        line, message_id = self._prepare(1, first, None)
        self.state, message = new_thread(
            past.buyer,
            past.seller,
            line,
            thread_id=past.id,
            message_id=message_id,
            subject=past.subject,
            city=past.city,
        )
        self._read(message)
        yield message
        yield make_archive_due(message)
        if _is_remembered(first.at):
            mark = start_hash(line, seller=past.seller, subject=past.subject, city=past.city)
            yield _as_of(first.at, make_start_marker(self.state.thread, line, mark))
            yield _as_of(first.at, make_marker(message, line))

    def _append(self, seq: int, said: PastMessage) -> Iterator[Item]:
        thread = self.state.thread
        line, message_id = self._prepare(seq, said, thread.last_message_id)
        message = make_message(self.state, line, message_id)
        is_new_day = message.created_at[:10] != thread.last_message_at[:10]
        self._change(line, message)
        self._read(message)
        if said.files:
            self.attached.append((said.files, message))
        yield message
        if is_new_day:
            yield make_archive_due(message)
        if _is_remembered(said.at):
            yield _as_of(said.at, make_marker(message, line))

    def _prepare(
        self, seq: int, said: PastMessage, last_message_id: str | None
    ) -> tuple[NewMessage, str]:
        chance = _chance(self.past.id, seq)
        client_id = str(UUID(bytes=chance[10:26], version=4))
        if said.files or seq == len(self.past.messages):
            attached = MessageAttachments(client_id, list(said.files))
            line = new_text_message(
                said.author_id, client_id=client_id, body=said.body, attached=attached
            )
        else:
            # A preview takes longer to make than all the rest, and only the newest is kept.
            line = NewMessage(
                client_id, clean_body(said.body), preview="", author_id=said.author_id
            )
        return line, _message_id(last_message_id, said.at, chance[:10])

    def _change(self, line: NewMessage, message: Message) -> None:
        """All of it is worked out on the state as it was, and only then applied."""
        changes: list[tuple[Item, Change]] = [
            (self.state.thread, thread_change(self.state, line, message, RosterChange()))
        ]
        for person in self.state.people.values():
            if person.user_id == line.author_id:
                change = sender_change(self.state, person, line, message)
            else:
                change = receiver_change(person, line, message)
            change.set |= waiting_for_change(self.state.thread, line, [])
            changes.append((person, change))
        for item, change in changes:
            change.apply(item)

    def _read(self, message: Message) -> None:
        """Whoever reads up to here does so now, while it is the newest."""
        for user_id, seq in self.read_up_to.items():
            if seq == message.seq:
                seen = Change(set=caught_up_cursors(message), remove=CAUGHT_UP_REMOVED_FIELDS)
                seen.apply(self.state.people[user_id])

    def _place(self, person: Participant) -> None:
        folder = ARCHIVED_FOLDER if person.user_id in self.past.archived_by else INBOX
        pinned = person.user_id in self.past.pinned_by
        placement_change(person, {"folder": folder, "pinned": pinned}).apply(person)


def _is_remembered(at: datetime) -> bool:
    """A marker of something sent longer ago would be expired."""
    return at.timestamp() + MARKER_LIFETIME_SECONDS > time.time()


def _as_of(at: datetime, marker: MarkerT) -> MarkerT:
    marker.ttl = int(at.timestamp()) + MARKER_LIFETIME_SECONDS
    return marker


def _chance(thread_id: str, seq: int) -> bytes:
    """What cannot be guessed of a message's ids, and is the same each time."""
    return salted_hmac("demo.history", f"{thread_id}#{seq}", algorithm="sha256").digest()


def _message_id(last_message_id: str | None, at: datetime, chance: bytes) -> str:
    milliseconds = (at - EPOCH) // timedelta(milliseconds=1)
    wanted = f"msg_{ULID.from_bytes(milliseconds.to_bytes(6, 'big') + chance)}"
    if last_message_id is None or keys.message_time(last_message_id) < keys.message_time(wanted):
        return wanted
    return keys.next_message_id(last_message_id, milliseconds)
