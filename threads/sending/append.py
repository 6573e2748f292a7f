"""Attempts to append one message until it is stored or refused."""

from collections.abc import Callable
from dataclasses import dataclass, field

from core import metrics
from core.outbox.handlers import Postponed
from core.refusals import Refusal
from threads import cache
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.dynamodb.retry import Backoff
from threads.dynamodb.store import StoreUnavailable
from threads.dynamodb.transactions import TransactionCancelled
from threads.models import Message, Participant, SentMarker, Thread
from threads.sending.new_message import NewMessage, RosterChange
from threads.sending.repeats import find_earlier_attempt, message_of_marker
from threads.sending.transaction import Attempt, build_attempt

MAX_CONFLICTS = 100

Plan = Callable[[CachedThread], tuple[NewMessage, RosterChange]]


class NothingToDo(Exception):
    """Raised by a plan whose change was made before: a repeat is not an error."""


@dataclass
class Appended:
    # The thread right after this message; users who join later do not get its events.
    cached: CachedThread
    message: Message
    # False if an earlier request stored the message: its events were published then.
    is_new: bool = True
    # The participants who left with this message.
    removed: list[Participant] = field(default_factory=list)
    # False if a newer message was stored in the same batch.
    shows_in_inboxes: bool = True


def append(thread_id: str, plan: Plan, *, unconfirmed: Attempt | None = None) -> Appended:
    """Stores the message that `plan` makes for the current thread; plans again after a conflict.
    If there is an `unconfirmed` attempt, its message is read first, since it may be stored."""
    with cache.write_lock(thread_id):
        return _Attempts(thread_id, plan, unconfirmed).run()


class _Attempts:
    def __init__(self, thread_id: str, plan: Plan, unconfirmed: Attempt | None) -> None:
        self.thread_id = thread_id
        self.plan = plan
        # Attempts without a response, which may have been stored.
        self.unconfirmed = {unconfirmed.message.id: unconfirmed} if unconfirmed else {}
        self.backoff = Backoff()
        self.is_in_time = True

    def run(self) -> Appended:
        conflicts = 0
        while self.is_in_time and conflicts < MAX_CONFLICTS:
            appended = self._attempt()
            if appended is not None:
                return appended
            conflicts += 1
        appended = self._find_unconfirmed()
        if appended is None:
            raise Refusal("TRY_AGAIN")
        return appended

    def _attempt(self) -> Appended | None:
        try:
            appended = self._find_unconfirmed()
            if appended is not None:
                return appended
            cached, new_message, roster = self._prepare()
            earlier = find_earlier_attempt(cached, new_message)
            if earlier is not None:
                return Appended(cached, earlier, is_new=False)
            attempt = build_attempt(cached, new_message, roster)
        except StoreUnavailable as error:
            self._pause(error)
            return None
        try:
            attempt.commit()
        except StoreUnavailable as error:
            metrics.SEND_CONFLICTS.labels("no_response").inc()
            self.unconfirmed[attempt.message.id] = attempt
            cache.invalidate(self.thread_id)
            self._pause(error)
            return None
        except TransactionCancelled as cancelled:
            return self._handle_cancelled(attempt, cancelled)
        cache.put(attempt.cached)
        return Appended(attempt.cached.copy(), attempt.message, removed=attempt.roster.leaving)

    def _prepare(self) -> tuple[CachedThread, NewMessage, RosterChange]:
        """A refusal that is based on the cache is confirmed with the stored thread."""
        cached = cache.peek(self.thread_id)
        if cached is not None:
            try:
                return cached, *self.plan(cached)
            except (Refusal, NothingToDo, Postponed):
                pass
        cached = cache.reload(self.thread_id)
        return cached, *self.plan(cached)

    def _handle_cancelled(
        self, attempt: Attempt, cancelled: TransactionCancelled
    ) -> Appended | None:
        # The marker comes first: if it exists, the other conditions do not matter.
        if cancelled.failed("marker"):
            metrics.SEND_CONFLICTS.labels("repeat").inc()
            marker = cancelled.current("marker", SentMarker)
            own = self.unconfirmed.get(marker.message_id)
            if own is not None:
                return self._own_result(own)
            return self._earlier_result(attempt.new_message, marker)
        if cancelled.is_conflict:
            metrics.SEND_CONFLICTS.labels("conflict").inc()
            self._pause()
            return None
        metrics.SEND_CONFLICTS.labels("stale_cache").inc()
        correct_cache(attempt.cached, cancelled)
        return None

    def _find_unconfirmed(self) -> Appended | None:
        """Called before planning again: a plan would take our own stored message for a repeat."""
        pk = keys.thread_pk(self.thread_id)
        for attempt in self.unconfirmed.values():
            stored = Message.find(pk, attempt.message.sk)
            # Another process may have stored its message under the same id: in the same millisecond
            # an id is the last one plus one.
            if stored is not None and stored.client_id == attempt.message.client_id:
                return self._own_result(attempt)
        return None

    def _own_result(self, attempt: Attempt) -> Appended:
        """The message that one of our attempts stored; its events are not published yet."""
        cached = cache.reload(self.thread_id).copy()
        cached.people = {
            user_id: person
            for user_id, person in cached.people.items()
            if person.visible_from_seq <= attempt.message.seq
        }
        return Appended(cached, attempt.message, removed=attempt.roster.leaving)

    def _earlier_result(self, new_message: NewMessage, marker: SentMarker) -> Appended:
        if marker.hash != new_message.hash:
            raise Refusal("CLIENT_ID_REUSED")
        cached = cache.get(self.thread_id)
        return Appended(cached, message_of_marker(marker, new_message), is_new=False)

    def _pause(self, error: StoreUnavailable | None = None) -> None:
        try:
            if error is None:
                self.backoff.wait()
            else:
                self.backoff.wait_after(error)
        except StoreUnavailable:
            self.is_in_time = False


# --- After a conflict


def correct_cache(cached: CachedThread, cancelled: TransactionCancelled) -> None:
    """Updates the cached thread from the stored items; invalidates it if they are not enough."""
    for name in cancelled.reasons:
        if name == "thread":
            _correct_thread(cached, cancelled.current(name, Thread))
        elif name.startswith(keys.PARTICIPANTS):
            _correct_participant(cached, cancelled.current(name, Participant))
        else:
            cache.invalidate(cached.thread.id)


def _correct_thread(cached: CachedThread, thread: Thread | None) -> None:
    if thread is None or thread.roster_version != cached.thread.roster_version:
        cache.invalidate(cached.thread.id)
        return
    cached.cursors_are_stale |= thread.last_seq != cached.thread.last_seq
    cached.thread = thread


def _correct_participant(cached: CachedThread, person: Participant | None) -> None:
    if person is None:
        cache.invalidate(cached.thread.id)
        return
    cached.people[person.user_id] = person
