"""Writes past threads in bulk, with the items that sending each message at its time would produce.

For demo and load data; publishes no events. Messages are written first, while their threads do not
exist yet; then the threads and participants are written in transactions. All ids are derived from
the thread id, so repeating an interrupted write completes it.
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
    row_waiting_change,
    sender_change,
    thread_change,
)

# A thread needs up to five items, and a transaction takes a hundred.
MAX_BATCH_SIZE = 20
MarkerT = TypeVar("MarkerT", SentMarker, StartMarker)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class HistoryConflict(Exception):
    """A thread exists already, or the two users may not message each other. Nothing was changed."""


@dataclass(frozen=True)
class PastMessage:
    author_id: str
    body: str
    at: datetime
    files: Sequence[File] = ()


@dataclass(frozen=True)
class PastThread:
    """`unread` maps a user id to how many of the newest messages they have not read."""

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
        authors = {past_message.author_id for past_message in self.messages}
        if not authors <= {self.buyer.id, self.seller.id} or self.buyer.id == self.seller.id:
            raise ValueError("a past thread needs exactly two participants")
        if not self.messages or self.messages[0].author_id != self.buyer.id:
            raise ValueError("the buyer must send the first message")

    def read_up_to(self, user_id: str) -> int:
        """The seq of the last message that this user has read; 0 if none."""
        unread = self.unread.get(user_id, 0)
        if unread == 0:
            return len(self.messages)
        theirs = [
            seq
            for seq, past_message in enumerate(self.messages, 1)
            if past_message.author_id != user_id
        ]
        if unread > len(theirs):
            raise ValueError("more unread messages than received")
        return theirs[-unread] - 1


def write_history(past: Iterable[PastThread]) -> None:
    remaining = iter(past)
    while group := list(islice(remaining, MAX_BATCH_SIZE)):
        existing = list_existing([each.id for each in group])
        if existing:
            raise HistoryConflict(f"already exist: {', '.join(sorted(existing))}")
        replays = [_Replay(each) for each in group]
        put_many(item for replay in replays for item in replay.run())
        for replay in replays:
            _bind(replay.attached)
        _write_threads([replay.cached for replay in replays])
        include_earlier_day(
            min(past_message.at for each in group for past_message in each.messages).date()
        )


def list_existing(thread_ids: Collection[str]) -> set[str]:
    found = get_many((keys.thread_pk(thread_id), keys.THREAD) for thread_id in thread_ids)
    return {thread.id for thread in found if isinstance(thread, Thread)}


def _bind(attached: list[tuple[Sequence[File], Message]]) -> None:
    for files, message in attached:
        client_id = message.client_id or ""
        reserve_files(files, client_id=client_id)
        bind_files(files, client_id=client_id, message_id=message.id)


def _write_threads(cached_threads: list[CachedThread]) -> None:
    write = Transaction()
    threads = [cached.thread for cached in cached_threads]
    # Each pair once: a transaction may not contain the same item twice.
    for pair_pk in {keys.pair_pk(thread.buyer_id, thread.seller_id) for thread in threads}:
        accept_pair(write, pair_pk)
    for cached in cached_threads:
        write.put(cached.thread.id, cached.thread, Thread.pk.does_not_exist())
        write.put("pair thread", make_pair_thread(cached.thread))
        for person in cached.people.values():
            write.put(person.sk, person)
    try:
        write.commit()
    except TransactionCancelled as cancelled:
        raise HistoryConflict(str(cancelled)) from cancelled


class _Replay:
    """A thread in memory to which messages are appended by the same rules as in DynamoDB."""

    def __init__(self, past: PastThread) -> None:
        self.past = past
        self.read_up_to = {
            person.id: past.read_up_to(person.id) for person in (past.buyer, past.seller)
        }
        self.cached: CachedThread
        self.attached: list[tuple[Sequence[File], Message]] = []

    def run(self) -> Iterator[Item]:
        """Yields all items except the thread, its participants and their pair."""
        yield from self._start()
        for seq, past_message in enumerate(self.past.messages[1:], 2):
            yield from self._append(seq, past_message)
        for person in self.cached.people.values():
            self._place(person)

    def _start(self) -> Iterator[Item]:
        past, first = self.past, self.past.messages[0]
        new_message, message_id = self._prepare(1, first, None)
        self.cached, message = new_thread(
            past.buyer,
            past.seller,
            new_message,
            thread_id=past.id,
            message_id=message_id,
            subject=past.subject,
            city=past.city,
        )
        self._read(message)
        yield message
        yield make_archive_due(message)
        if _has_marker(first.at):
            content_hash = start_hash(
                new_message, seller=past.seller, subject=past.subject, city=past.city
            )
            yield _as_of(first.at, make_start_marker(self.cached.thread, new_message, content_hash))
            yield _as_of(first.at, make_marker(message, new_message))

    def _append(self, seq: int, past_message: PastMessage) -> Iterator[Item]:
        thread = self.cached.thread
        new_message, message_id = self._prepare(seq, past_message, thread.last_message_id)
        message = make_message(self.cached, new_message, message_id)
        is_new_day = message.created_at[:10] != thread.last_message_at[:10]
        self._change(new_message, message)
        self._read(message)
        if past_message.files:
            self.attached.append((past_message.files, message))
        yield message
        if is_new_day:
            yield make_archive_due(message)
        if _has_marker(past_message.at):
            yield _as_of(past_message.at, make_marker(message, new_message))

    def _prepare(
        self, seq: int, past_message: PastMessage, last_message_id: str | None
    ) -> tuple[NewMessage, str]:
        random_bytes = _random_bytes(self.past.id, seq)
        client_id = str(UUID(bytes=random_bytes[10:26], version=4))
        if past_message.files or seq == len(self.past.messages):
            attached = MessageAttachments(client_id, list(past_message.files))
            new_message = new_text_message(
                past_message.author_id,
                client_id=client_id,
                body=past_message.body,
                attached=attached,
            )
        else:
            # Rendering a preview takes longest, and only the newest one is stored.
            new_message = NewMessage(
                client_id,
                clean_body(past_message.body),
                preview="",
                author_id=past_message.author_id,
            )
        return new_message, _message_id(last_message_id, past_message.at, random_bytes[:10])

    def _change(self, new_message: NewMessage, message: Message) -> None:
        """Computes all changes from the same state before applying any."""
        changes: list[tuple[Item, Change]] = [
            (self.cached.thread, thread_change(self.cached, new_message, message, RosterChange()))
        ]
        for person in self.cached.people.values():
            if person.user_id == new_message.author_id:
                change = sender_change(self.cached, person, new_message, message)
            else:
                change = receiver_change(person, new_message, message)
            change.set |= row_waiting_change(self.cached.thread, new_message, [], person.user_id)
            changes.append((person, change))
        for item, change in changes:
            change.apply(item)

    def _read(self, message: Message) -> None:
        """Marks the message as read for users who have read up to it."""
        for user_id, seq in self.read_up_to.items():
            if seq == message.seq:
                seen = Change(set=caught_up_cursors(message), remove=CAUGHT_UP_REMOVED_FIELDS)
                seen.apply(self.cached.people[user_id])

    def _place(self, person: Participant) -> None:
        folder = ARCHIVED_FOLDER if person.user_id in self.past.archived_by else INBOX
        pinned = person.user_id in self.past.pinned_by
        placement_change(person, {"folder": folder, "pinned": pinned}).apply(person)


def _has_marker(at: datetime) -> bool:
    """Whether the idempotency marker of that time would not have expired yet."""
    return at.timestamp() + MARKER_LIFETIME_SECONDS > time.time()


def _as_of(at: datetime, marker: MarkerT) -> MarkerT:
    marker.ttl = int(at.timestamp()) + MARKER_LIFETIME_SECONDS
    return marker


def _random_bytes(thread_id: str, seq: int) -> bytes:
    """Unpredictable but reproducible bytes for the ids of a message."""
    return salted_hmac("demo.history", f"{thread_id}#{seq}", algorithm="sha256").digest()


def _message_id(last_message_id: str | None, at: datetime, random_bytes: bytes) -> str:
    milliseconds = (at - EPOCH) // timedelta(milliseconds=1)
    wanted = f"msg_{ULID.from_bytes(milliseconds.to_bytes(6, 'big') + random_bytes)}"
    if last_message_id is None or keys.message_time(last_message_id) < keys.message_time(wanted):
        return wanted
    return keys.next_message_id(last_message_id, milliseconds)
