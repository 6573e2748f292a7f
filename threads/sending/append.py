"""One attempt after the other until the line is stored, or refused."""

from collections.abc import Callable
from dataclasses import dataclass, field

from core import metrics
from core.outbox.handlers import Postponed
from core.refusals import Refusal
from threads import cache as states
from threads.cache import ThreadState
from threads.dynamodb import keys
from threads.dynamodb.retry import Backoff
from threads.dynamodb.store import StoreUnavailable
from threads.dynamodb.transactions import Cancelled
from threads.models import Message, Participant, SentMarker, Thread
from threads.sending.new_message import Line, Roster
from threads.sending.transaction import Attempt, build

MAX_RACES = 100

Plan = Callable[[ThreadState], tuple[Line, Roster]]


class NothingToDo(Exception):
    """Raised by a plan: it is as it should be already, and a repeat is not an error."""


@dataclass
class Appended:
    # As it was just after this line: whoever comes later is not told of it.
    state: ThreadState
    message: Message
    # False when an earlier request stored it: then everybody was told already.
    is_new: bool = True
    # Those who went with it.
    gone: list[Participant] = field(default_factory=list)
    # False when a newer one was stored together with it.
    shows_in_inboxes: bool = True


def append(thread_id: str, plan: Plan, *, unsure: Attempt | None = None) -> Appended:
    """Stores the line that `plan` makes of the thread as it is; asks again after a lost race.
    Of an attempt that one is `unsure` of it is asked first whether it was stored."""
    with states.turn(thread_id):
        return _Attempts(thread_id, plan, unsure).run()


def find_stored(thread_id: str, line: Line) -> Message | None:
    """Asked before a refusal: nobody is told "refused" about something that was stored."""
    marker = SentMarker.find(keys.thread_pk(thread_id), line.marker_sk)
    if marker is None:
        return None
    if marker.hash != line.hash:
        raise Refusal("CLIENT_ID_REUSED")
    return _message_of(marker, line)


class _Attempts:
    def __init__(self, thread_id: str, plan: Plan, unsure: Attempt | None) -> None:
        self.thread_id = thread_id
        self.plan = plan
        # Those whose answer was lost on the way: they may have been stored.
        self.unsure = {unsure.message.id: unsure} if unsure else {}
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
            attempt = build(*self._prepare())
        except StoreUnavailable as error:
            self._pause(error)
            return None
        try:
            attempt.commit()
        except StoreUnavailable as error:
            metrics.RACES.labels("no answer").inc()
            self.unsure[attempt.message.id] = attempt
            states.forget(self.thread_id)
            self._pause(error)
            return None
        except Cancelled as cancelled:
            return self._learn(attempt, cancelled)
        states.remember(attempt.state)
        return Appended(attempt.state.copy(), attempt.message, gone=attempt.roster.leaving)

    def _prepare(self) -> tuple[ThreadState, Line, Roster]:
        """A refusal that rests on what we believe is given only after looking."""
        believed = states.known(self.thread_id)
        if believed is not None:
            try:
                return believed, *self.plan(believed)
            except (Refusal, NothingToDo, Postponed):
                pass
        state = states.look(self.thread_id)
        return state, *self.plan(state)

    def _learn(self, attempt: Attempt, cancelled: Cancelled) -> Appended | None:
        # The marker is judged before all others.
        if cancelled.failed("marker"):
            metrics.RACES.labels("repeat").inc()
            marker = cancelled.current("marker", SentMarker)
            return self._ours(marker) or self._stored_before(attempt.line, marker)
        if cancelled.is_conflict:
            metrics.RACES.labels("conflict").inc()
            self._pause()
            return None
        metrics.RACES.labels("overtaken").inc()
        correct(attempt.state, cancelled)
        return None

    def _find_unsure(self) -> Appended | None:
        """Asked before planning again: to the plan, what was done would look like a repeat."""
        for marker_sk in {attempt.line.marker_sk for attempt in self.unsure.values()}:
            marker = SentMarker.find(keys.thread_pk(self.thread_id), marker_sk)
            appended = self._ours(marker) if marker else None
            if appended is not None:
                return appended
        return None

    def _ours(self, marker: SentMarker) -> Appended | None:
        """Stored by us, and nobody was told of it yet."""
        attempt = self.unsure.get(marker.message_id)
        if attempt is None or attempt.line.marker_sk != marker.sk:
            return None
        state = states.look(self.thread_id).copy()
        state.people = {
            user_id: person
            for user_id, person in state.people.items()
            if person.visible_from_seq <= marker.seq
        }
        return Appended(state, attempt.message, gone=attempt.roster.leaving)

    def _stored_before(self, line: Line, marker: SentMarker) -> Appended:
        if marker.hash != line.hash:
            raise Refusal("CLIENT_ID_REUSED")
        state = states.recall(self.thread_id)
        return Appended(state, _message_of(marker, line), is_new=False)

    def _pause(self, error: StoreUnavailable | None = None) -> None:
        try:
            if error is None:
                self.backoff.wait()
            else:
                self.backoff.wait_after(error)
        except StoreUnavailable:
            self.is_patient = False


def _message_of(marker: SentMarker, line: Line) -> Message:
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


def correct(state: ThreadState, cancelled: Cancelled) -> None:
    """Takes what the store has for what we believed; where that is not enough, forgets it all."""
    for name in cancelled.reasons:
        if name == "thread":
            _correct_thread(state, cancelled.current(name, Thread))
        elif name.startswith(keys.PARTICIPANTS):
            _correct_person(state, cancelled.current(name, Participant))
        else:
            states.forget(state.thread.id)


def _correct_thread(state: ThreadState, thread: Thread | None) -> None:
    if thread is None or thread.roster_version != state.thread.roster_version:
        states.forget(state.thread.id)
        return
    state.cursors_are_stale |= thread.last_seq != state.thread.last_seq
    state.thread = thread


def _correct_person(state: ThreadState, person: Participant | None) -> None:
    if person is None:
        states.forget(state.thread.id)
        return
    state.people[person.user_id] = person
