"""Appends messages of one or several threads in one transaction.

The guarantees are those of a single append: every message has its conditions, marker and number.
If a thread's part fails, its messages are left to be appended one by one; the rest of the batch is
retried immediately.
"""

from collections.abc import Generator, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field

from core import metrics
from core.refusals import Refusal
from threads import cache
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.dynamodb.change import Change
from threads.dynamodb.store import StoreUnavailable
from threads.dynamodb.transactions import Transaction, TransactionCancelled, TransactionSteps
from threads.models import Message, SentMarker
from threads.sending.append import Appended, NothingToDo, Plan, correct_cache
from threads.sending.new_message import (
    NewMessage,
    RosterChange,
    make_archive_due,
    make_marker,
    make_message,
    now_ms,
)
from threads.sending.pending_actions import restores_pending_items
from threads.sending.repeats import may_be_repeat
from threads.sending.rows import thread_change
from threads.sending.transaction import (
    Attempt,
    is_unused,
    participant_change,
    participant_condition,
    thread_unchanged,
)

# The limit of a DynamoDB transaction.
MAX_ITEMS = 100
NO_ROSTER_CHANGE = RosterChange()


@dataclass
class BatchEntry:
    """A message to be appended. Without an outcome it has to be appended individually."""

    thread_id: str
    plan: Plan
    appended: Appended | None = None
    # An attempt without a response, which may have been stored.
    unconfirmed: Attempt | None = None


@dataclass
class _Part:
    """The writes to one thread."""

    # The cached thread, and as the planned messages leave it: a copy if there may be several.
    cached: CachedThread
    after: CachedThread
    messages: list[tuple[BatchEntry, NewMessage, Message]] = field(default_factory=list)
    archive: list[Message] = field(default_factory=list)
    thread_changes: Change = field(default_factory=Change)
    participant_changes: dict[str, Change] = field(default_factory=dict)

    @property
    def item_count(self) -> int:
        markers = sum(new_message.has_marker for _, new_message, _ in self.messages)
        items = len(self.messages) + markers + len(self.archive)
        return items + 1 + len(self.participant_changes)


def append_batch(entries: list[BatchEntry]) -> TransactionSteps:
    """Entries without an outcome afterwards have to be appended one by one, in order."""
    with ExitStack() as locks:
        parts = list(_build_parts(entries, locks))
        while parts:
            parts = yield from _commit(parts)


def _build_parts(entries: list[BatchEntry], locks: ExitStack) -> Iterator[_Part]:
    threads: dict[str, list[BatchEntry]] = {}
    for entry in entries:
        threads.setdefault(entry.thread_id, []).append(entry)
    room = MAX_ITEMS
    for thread_id, own_entries in threads.items():
        # Another writer holds the thread, or it is not cached: it would delay the batch.
        if not locks.enter_context(cache.try_write_lock(thread_id)):
            continue
        cached = cache.peek(thread_id)
        if cached is None:
            continue
        part = _build_part(cached, own_entries, room)
        if part.messages:
            room -= part.item_count
            yield part


def _build_part(cached: CachedThread, entries: list[BatchEntry], room: int) -> _Part:
    part = _Part(cached, cached.copy() if len(entries) > 1 else cached)
    markers: set[str] = set()
    for entry in entries:
        try:
            new_message, roster = entry.plan(part.after)
        except (Refusal, NothingToDo):
            break
        # Message and marker, an archive item on a new day, and first the thread and participants.
        more = 3 if part.messages else 4 + len(cached.people)
        is_batchable = (
            roster == NO_ROSTER_CHANGE
            and new_message.waits is None
            and not restores_pending_items(part.after)
            and not may_be_repeat(part.after, new_message)
        )
        if not is_batchable or new_message.marker_sk in markers or part.item_count + more > room:
            break
        markers.add(new_message.marker_sk)
        _add_message(part, entry, new_message)
    return part


def _add_message(part: _Part, entry: BatchEntry, new_message: NewMessage) -> None:
    """Adds a message to the thread as the messages before it leave it."""
    cached = part.after
    message_id = keys.next_message_id(cached.thread.last_message_id, now_ms())
    message = make_message(cached, new_message, message_id)
    if message.created_at[:10] != cached.thread.last_message_at[:10]:
        part.archive.append(message)
    thread_changes = thread_change(cached, new_message, message, NO_ROSTER_CHANGE)
    participant_changes = {
        user_id: participant_change(cached, person, new_message, message, NO_ROSTER_CHANGE)
        for user_id, person in cached.people.items()
    }
    part.messages.append((entry, new_message, message))
    _join_changes(part, thread_changes, participant_changes)
    if cached is not part.cached:
        cached.sends.record(message)
        thread_changes.apply(cached.thread)
        for user_id, change in participant_changes.items():
            change.apply(cached.people[user_id])


def _join_changes(
    part: _Part, thread_changes: Change, participant_changes: dict[str, Change]
) -> None:
    if len(part.messages) == 1:
        part.thread_changes, part.participant_changes = thread_changes, participant_changes
        return
    part.thread_changes = part.thread_changes.then(thread_changes)
    for user_id, change in participant_changes.items():
        part.participant_changes[user_id] = part.participant_changes[user_id].then(change)


# --- Writing


def _commit(parts: list[_Part]) -> Generator[Transaction, None, list[_Part]]:
    """Returns the parts to be retried because only other parts failed."""
    write = Transaction()
    for part in parts:
        _add_writes(write, part)
    try:
        yield write
    except TransactionCancelled as cancelled:
        return [part for part in parts if not _has_failed(part, cancelled)]
    except Exception as error:
        # After any error the transaction may have been stored.
        for part in parts:
            _mark_unconfirmed(part)
        if not isinstance(error, StoreUnavailable):
            raise
        return []
    for part in parts:
        _apply(part)
    return []


def _add_writes(write: Transaction, part: _Part) -> None:
    thread = part.cached.thread
    for number, (_, new_message, message) in enumerate(part.messages):
        write.put(f"{thread.id} message {number}", message)
        if new_message.has_marker:
            marker = make_marker(message, new_message)
            write.put(f"{thread.id} marker {number}", marker, is_unused(SentMarker))
    for number, message in enumerate(part.archive):
        write.put(f"{thread.id} archive {number}", make_archive_due(message))
    write.update(f"{thread.id} thread", thread, part.thread_changes, thread_unchanged(part.cached))
    senders = {
        user_id
        for _, new_message, _ in part.messages
        for user_id in (new_message.author_id, new_message.actor_id)
    }
    for user_id, change in part.participant_changes.items():
        person = part.cached.people[user_id]
        condition = participant_condition(part.cached, person, sends=user_id in senders)
        write.update(f"{thread.id} {person.sk}", person, change, condition)


def _mark_unconfirmed(part: _Part) -> None:
    metrics.SEND_CONFLICTS.labels("no_response").inc()
    cache.invalidate(part.cached.thread.id)
    for entry, new_message, message in part.messages:
        entry.unconfirmed = Attempt(part.cached, new_message, NO_ROSTER_CHANGE, message)


def _has_failed(part: _Part, cancelled: TransactionCancelled) -> bool:
    """Whether this part caused the failure; if so, its cached thread is corrected."""
    prefix = f"{part.cached.thread.id} "
    reasons = {
        name.removeprefix(prefix): reason
        for name, reason in cancelled.reasons.items()
        if name.startswith(prefix)
    }
    own = TransactionCancelled(reasons)
    if reasons:
        metrics.SEND_CONFLICTS.labels("batch_failed").inc()
    if reasons and not own.is_conflict and not any(name.startswith("marker") for name in reasons):
        correct_cache(part.cached, own)
    return bool(reasons)


def _apply(part: _Part) -> None:
    last = part.messages[-1][2]
    with cache.update_lock:
        part.thread_changes.apply(part.cached.thread)
        for user_id, change in part.participant_changes.items():
            person = part.cached.people[user_id]
            # A concurrent cursor update may have loaded an item that has these messages.
            if person.last_seq < last.seq:
                change.apply(person)
        for _, _, message in part.messages:
            part.cached.sends.record(message)
    cache.put(part.cached)
    after = part.cached.copy()
    for entry, _, message in part.messages:
        # Inboxes show only the newest message.
        entry.appended = Appended(after, message, shows_in_inboxes=message is last)
