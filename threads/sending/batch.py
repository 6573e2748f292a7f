"""Lines that wait, of one thread or of several, in one transaction.

Nothing is promised less for it: each line has its conditions, its marker and its number. What fails
leaves, with what came after it in the same thread, to be appended by itself; the rest goes again at
once.
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
from threads.sending.rows import thread_change
from threads.sending.transaction import (
    Attempt,
    is_unused,
    participant_change,
    participant_condition,
    thread_unchanged,
)

# Of a transaction.
MAX_ITEMS = 100


@dataclass
class BatchEntry:
    """A line that is to be appended, and what became of it: nothing, if it has to go by itself."""

    thread_id: str
    plan: Plan
    appended: Appended | None = None
    # The answer was lost on the way: it may have been stored.
    unconfirmed: Attempt | None = None


@dataclass
class _Part:
    """What is written to one thread."""

    # As we believe it is, and as it will be after each line.
    state: CachedThread
    after: CachedThread
    lines: list[tuple[BatchEntry, NewMessage, Message]] = field(default_factory=list)
    archive: list[Message] = field(default_factory=list)
    of_thread: Change = field(default_factory=Change)
    of_people: dict[str, Change] = field(default_factory=dict)

    @property
    def items(self) -> int:
        return 2 * len(self.lines) + 1 + len(self.of_people) + len(self.archive)


def append_batch(entries: list[BatchEntry]) -> TransactionSteps:
    """Those that are left without an outcome have to be appended one by one, in their order."""
    with ExitStack() as turns:
        parts = list(_parts(entries, turns))
        while parts:
            parts = yield from _write(parts)


def _parts(entries: list[BatchEntry], turns: ExitStack) -> Iterator[_Part]:
    threads: dict[str, list[BatchEntry]] = {}
    for entry in entries:
        threads.setdefault(entry.thread_id, []).append(entry)
    room = MAX_ITEMS
    for thread_id, waiting in threads.items():
        # Somebody else writes here, or nothing is known: that takes its time.
        if not turns.enter_context(cache.try_write_lock(thread_id)):
            continue
        believed = cache.peek(thread_id)
        if believed is None:
            continue
        part = _part(believed, waiting, room)
        if part.lines:
            room -= part.items
            yield part


def _part(believed: CachedThread, waiting: list[BatchEntry], room: int) -> _Part:
    part = _Part(believed, believed.copy())
    markers: set[str] = set()
    for entry in waiting:
        try:
            line, roster = entry.plan(part.after)
        except (Refusal, NothingToDo):
            break
        # Two more, if it is of another day one more, and the first brings thread and people.
        more = 3 if part.lines else 4 + len(believed.people)
        is_usual = (
            roster == RosterChange()
            and line.waits is None
            and not restores_pending_items(part.after)
        )
        if not is_usual or line.marker_sk in markers or part.items + more > room:
            break
        markers.add(line.marker_sk)
        _add(part, entry, line)
    return part


def _add(part: _Part, entry: BatchEntry, line: NewMessage) -> None:
    """One more line, on the thread as the lines before it leave it."""
    cached = part.after
    message_id = keys.next_message_id(cached.thread.last_message_id, now_ms())
    message = make_message(cached, line, message_id)
    if message.created_at[:10] != cached.thread.last_message_at[:10]:
        part.archive.append(message)
    of_thread = thread_change(cached, line, message, RosterChange())
    of_people = {
        person.user_id: participant_change(cached, person, line, message, RosterChange())
        for person in cached.people.values()
    }
    part.of_thread = part.of_thread.then(of_thread) if part.lines else of_thread
    of_thread.apply(cached.thread)
    for user_id, change in of_people.items():
        part.of_people[user_id] = part.of_people[user_id].then(change) if part.lines else change
        change.apply(cached.people[user_id])
    part.lines.append((entry, line, message))


# --- Writing


def _write(parts: list[_Part]) -> Generator[Transaction, None, list[_Part]]:
    """The parts that go again, because others stood in their way."""
    write = Transaction()
    for part in parts:
        _put(write, part)
    try:
        yield write
    except TransactionCancelled as cancelled:
        return [part for part in parts if not _failed(part, cancelled)]
    except Exception as error:
        # Whatever it is, it may have been stored.
        for part in parts:
            _lost(part)
        if not isinstance(error, StoreUnavailable):
            raise
        return []
    for part in parts:
        _done(part)
    return []


def _put(write: Transaction, part: _Part) -> None:
    thread = part.state.thread
    for number, (_, line, message) in enumerate(part.lines):
        write.put(f"{thread.id} message {number}", message)
        write.put(f"{thread.id} marker {number}", make_marker(message, line), is_unused(SentMarker))
    for number, message in enumerate(part.archive):
        write.put(f"{thread.id} archive {number}", make_archive_due(message))
    write.update(f"{thread.id} thread", thread, part.of_thread, thread_unchanged(part.state))
    writers = {user_id for _, line, _ in part.lines for user_id in (line.author_id, line.actor_id)}
    for user_id, change in part.of_people.items():
        person = part.state.people[user_id]
        condition = participant_condition(part.state, person, writes=user_id in writers)
        write.update(f"{thread.id} {person.sk}", person, change, condition)


def _lost(part: _Part) -> None:
    metrics.SEND_CONFLICTS.labels("no answer").inc()
    cache.invalidate(part.state.thread.id)
    for entry, line, message in part.lines:
        entry.unconfirmed = Attempt(part.state, line, RosterChange(), message)


def _failed(part: _Part, cancelled: TransactionCancelled) -> bool:
    """Whether something of this part was in the way; what the store has is taken for true."""
    prefix = f"{part.state.thread.id} "
    reasons = {
        name.removeprefix(prefix): reason
        for name, reason in cancelled.reasons.items()
        if name.startswith(prefix)
    }
    own = TransactionCancelled(reasons)
    if reasons:
        metrics.SEND_CONFLICTS.labels("left the group").inc()
    if reasons and not own.is_conflict and not any(name.startswith("marker") for name in reasons):
        correct_cache(part.state, own)
    return bool(reasons)


def _done(part: _Part) -> None:
    last = part.lines[-1][2]
    with cache.update_lock:
        part.of_thread.apply(part.state.thread)
        for user_id, change in part.of_people.items():
            person = part.state.people[user_id]
            # A cursor that moved just now may have brought these lines along from the store.
            if person.last_seq < last.seq:
                change.apply(person)
    cache.put(part.state)
    after = part.state.copy()
    for entry, _, message in part.lines:
        # Inboxes show the newest only.
        entry.appended = Appended(after, message, shows_in_inboxes=message is last)
