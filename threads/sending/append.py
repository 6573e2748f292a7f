"""One attempt after the other until the line is stored, or refused."""

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
from threads.sending.transaction import Attempt, build_attempt

MAX_RACES = 100

Plan = Callable[[CachedThread], tuple[NewMessage, RosterChange]]


class NothingToDo(Exception):
    """Raised by a plan: it is as it should be already, and a repeat is not an error."""


@dataclass
class Appended:
    # As it was just after this line: whoever comes later is not told of it.
    cached: CachedThread
    message: Message
    # False when an earlier request stored it: then everybody was told already.
    is_new: bool = True
    # Those who went with it.
    removed: list[Participant] = field(default_factory=list)
    # False when a newer one was stored together with it.
    shows_in_inboxes: bool = True


def append(thread_id: str, plan: Plan, *, unconfirmed: Attempt | None = None) -> Appended:
    """Stores the line that `plan` makes of the thread as it is; asks again after a lost race.
    Of an attempt that one is `unsure` of it is asked first whether it was stored."""
    with cache.write_lock(thread_id):
        return _Attempts(thread_id, plan, unconfirmed).run()


def find_stored_message(thread_id: str, line: NewMessage) -> Message | None:
    """Asked before a refusal: nobody is told "refused" about something that was stored."""
    marker = SentMarker.find(keys.thread_pk(thread_id), line.marker_sk)
    if marker is None:
        return None
    if marker.hash != line.hash:
        raise Refusal("CLIENT_ID_REUSED")
    return _message_of(marker, line)


class _Attempts:
    def __init__(self, thread_id: str, plan: Plan, unconfirmed: Attempt | None) -> None:
        self.thread_id = thread_id
        self.plan = plan
        # Those whose answer was lost on the way: they may have been stored.
        self.unconfirmed = {unconfirmed.message.id: unconfirmed} if unconfirmed else {}
        self.backoff = Backoff()
        self.is_patient = True

    def run(self) -> Appended:
        races = 0
        while self.is_patient and races < MAX_RACES:
            appended = self._once()
            if appended is not None:
                return appended
            races += 1
        appended = self._find_unsure()
        if appended is None:
            raise Refusal("TRY_AGAIN")
        return appended

    def _once(self) -> Appended | None:
        try:
            appended = self._find_unsure()
            if appended is not None:
                return appended
            attempt = build_attempt(*self._prepare())
        except StoreUnavailable as error:
            self._pause(error)
            return None
        try:
            attempt.commit()
        except StoreUnavailable as error:
            metrics.SEND_CONFLICTS.labels("no answer").inc()
            self.unconfirmed[attempt.message.id] = attempt
            cache.invalidate(self.thread_id)
            self._pause(error)
            return None
        except TransactionCancelled as cancelled:
            return self._learn(attempt, cancelled)
        cache.put(attempt.cached)
        return Appended(attempt.cached.copy(), attempt.message, removed=attempt.roster.leaving)

    def _prepare(self) -> tuple[CachedThread, NewMessage, RosterChange]:
        """A refusal that rests on what we believe is given only after looking."""
        believed = cache.peek(self.thread_id)
        if believed is not None:
            try:
                return believed, *self.plan(believed)
            except (Refusal, NothingToDo, Postponed):
                pass
        cached = cache.reload(self.thread_id)
        return cached, *self.plan(cached)

    def _learn(self, attempt: Attempt, cancelled: TransactionCancelled) -> Appended | None:
        # The marker is judged before all others.
        if cancelled.failed("marker"):
            metrics.SEND_CONFLICTS.labels("repeat").inc()
            marker = cancelled.current("marker", SentMarker)
            return self._ours(marker) or self._stored_before(attempt.new_message, marker)
        if cancelled.is_conflict:
            metrics.SEND_CONFLICTS.labels("conflict").inc()
            self._pause()
            return None
        metrics.SEND_CONFLICTS.labels("overtaken").inc()
        correct_cache(attempt.cached, cancelled)
        return None

    def _find_unsure(self) -> Appended | None:
        """Asked before planning again: to the plan, what was done would look like a repeat."""
        for marker_sk in {attempt.new_message.marker_sk for attempt in self.unconfirmed.values()}:
            marker = SentMarker.find(keys.thread_pk(self.thread_id), marker_sk)
            appended = self._ours(marker) if marker else None
            if appended is not None:
                return appended
        return None

    def _ours(self, marker: SentMarker) -> Appended | None:
        """Stored by us, and nobody was told of it yet."""
        attempt = self.unconfirmed.get(marker.message_id)
        if attempt is None or attempt.new_message.marker_sk != marker.sk:
            return None
        cached = cache.reload(self.thread_id).copy()
        cached.people = {
            user_id: person
            for user_id, person in cached.people.items()
            if person.visible_from_seq <= marker.seq
        }
        return Appended(cached, attempt.message, removed=attempt.roster.leaving)

    def _stored_before(self, line: NewMessage, marker: SentMarker) -> Appended:
        if marker.hash != line.hash:
            raise Refusal("CLIENT_ID_REUSED")
        cached = cache.get(self.thread_id)
        return Appended(cached, _message_of(marker, line), is_new=False)

    def _pause(self, error: StoreUnavailable | None = None) -> None:
        try:
            if error is None:
                self.backoff.wait()
            else:
                self.backoff.wait_after(error)
        except StoreUnavailable:
            self.is_patient = False


def _message_of(marker: SentMarker, line: NewMessage) -> Message:
    """What was stored under a marker, as far as an acknowledgement needs it."""
    return Message(
        marker.pk,
        keys.message_sk(marker.message_id),
        seq=marker.seq,
        client_id=line.client_id,
        author_id=line.author_id,
        type=line.type,
        body=line.body,
        created_at=keys.iso(keys.message_time(marker.message_id)),
    )


# --- After a lost race


def correct_cache(cached: CachedThread, cancelled: TransactionCancelled) -> None:
    """Takes what the store has for what we believed; where that is not enough, forgets it all."""
    for name in cancelled.reasons:
        if name == "thread":
            _correct_thread(cached, cancelled.current(name, Thread))
        elif name.startswith(keys.PARTICIPANTS):
            _correct_person(cached, cancelled.current(name, Participant))
        else:
            cache.invalidate(cached.thread.id)


def _correct_thread(cached: CachedThread, thread: Thread | None) -> None:
    if thread is None or thread.roster_version != cached.thread.roster_version:
        cache.invalidate(cached.thread.id)
        return
    cached.cursors_are_stale |= thread.last_seq != cached.thread.last_seq
    cached.thread = thread


def _correct_person(cached: CachedThread, person: Participant | None) -> None:
    if person is None:
        cache.invalidate(cached.thread.id)
        return
    cached.people[person.user_id] = person
