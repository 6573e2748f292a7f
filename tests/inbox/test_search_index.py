"""The search index is the same whether updated incrementally or rebuilt."""

import random
from datetime import UTC, datetime

import pytest
from django.core.management import call_command

from accounts.actions import PROFILE_FIELDS, change_profile
from core.outbox.processing import process_due
from inbox.models import IndexedMessage, IndexedPerson, IndexedThread
from inbox.search import index, indexer, query_parser, queue, reconcile
from inbox.search.search import search
from tests.inbox.conftest import discard_queue
from tests.inbox.test_search import find
from tests.threads.conftest import add_friend, messages_of, say, start
from threads.actions.participants import leave_thread, remove_participant
from threads.actions.revisions import edit_message, remove_message, set_reaction
from threads.actions.staff import (
    hide_message,
    lock_thread,
    redact_message,
    unhide_message,
    unlock_thread,
)
from threads.archive.archiver import archive_thread
from threads.dynamodb.store import count_requests

pytestmark = pytest.mark.storage


@pytest.fixture(autouse=True)
def empty_queue() -> None:
    """Removes entries queued by other tests in this process."""
    discard_queue()


def snapshot(*threads: str) -> tuple[list[tuple], ...]:
    """Returns all content of the index except the ids of its rows."""
    messages = IndexedMessage.objects.filter(thread__in=threads).order_by("message_id")
    participants = IndexedPerson.objects.filter(thread__in=threads).order_by("thread", "user_id")
    indexed = IndexedThread.objects.filter(pk__in=threads).order_by("pk")
    columns = [name.attname for name in IndexedMessage._meta.fields if name.attname != "id"]
    return (
        list(messages.values_list(*columns)),
        list(participants.values_list("thread", "user_id", "from_seq")),
        list(indexed.values_list()),
    )


class RandomActivity:
    """Random actions: sending, editing, removing, joining, leaving, and losing the queue."""

    def __init__(self, seed: int, buyer, seller, guest) -> None:
        self.rng = random.Random(seed)
        self.buyer, self.seller, self.guest = buyer, seller, guest
        self.threads = [start(buyer, seller), start(buyer, seller)]
        self.guests: set[str] = set()
        self.hidden: list[tuple[str, str]] = []
        self.number = 0

    def step(self) -> None:
        acts = [self.say] * 6 + [self.edit, self.react, self.remove, self.hide, self.show]
        acts += [self.redact, self.lock, self.join_or_leave, self.rename, self.archive]
        acts += [indexer.index_queued] * 3 + [discard_queue]
        self.rng.choice(acts)()

    @property
    def thread(self) -> str:
        return self.rng.choice(self.threads)

    def any_message(self, thread: str):
        """Returns a random message that its author can still change."""
        messages = [one for one in messages_of(thread) if one.author_id and not one.is_withheld]
        return self.rng.choice(messages) if messages else None

    def author(self, message):
        return {one.id: one for one in (self.buyer, self.seller)}.get(message.author_id)

    def say(self) -> None:
        self.number += 1
        author = self.rng.choice((self.buyer, self.seller))
        say(author, self.thread, f"Words {self.number}")

    def edit(self) -> None:
        self._as_author(lambda user, one: edit_message(user, **one, body=f"Other {one}"))

    def react(self) -> None:
        self._as_author(lambda user, one: set_reaction(user, **one, reaction="👍", on=True))

    def remove(self) -> None:
        self._as_author(lambda user, one: remove_message(user, **one))

    def _as_author(self, change) -> None:
        thread = self.thread
        message = self.any_message(thread)
        if message is not None and (user := self.author(message)):
            change(user, {"thread_id": thread, "message_id": message.id})

    def hide(self) -> None:
        thread = self.thread
        if message := self.any_message(thread):
            hide_message(thread_id=thread, message_id=message.id)
            self.hidden.append((thread, message.id))

    def show(self) -> None:
        if self.hidden:
            thread, message_id = self.hidden.pop()
            unhide_message(thread_id=thread, message_id=message_id)

    def redact(self) -> None:
        thread = self.thread
        if (message := self.any_message(thread)) and "Words" in (message.body or ""):
            redact_message(thread_id=thread, message_id=message.id, text="Words")

    def lock(self) -> None:
        """Changes the thread without changing a message."""
        thread = self.thread
        lock_thread(thread_id=thread, reason="A look")
        unlock_thread(thread_id=thread)

    def join_or_leave(self) -> None:
        thread = self.thread
        if thread not in self.guests:
            add_friend(self.buyer, thread_id=thread, user=self.guest)
        elif self.rng.random() < 0.5:
            leave_thread(self.guest, thread_id=thread)
        else:
            remove_participant(self.buyer, thread_id=thread, user_id=self.guest.id)
        self.guests ^= {thread}

    def rename(self) -> None:
        fields = {name: getattr(self.seller, name) for name in PROFILE_FIELDS}
        change_profile(self.seller, **fields | {"display_name": f"Sam {self.number}"})
        process_due()

    def archive(self) -> None:
        archive_thread(self.thread, since="2020-01-01", before=datetime.now(UTC))


@pytest.mark.parametrize("seed", range(8))
def test_an_incrementally_updated_index_equals_a_rebuilt_one(
    buyer, seller, stranger, monkeypatch, seed
):
    """Changes lost with the queue of a stopped server are found by the reconciliation."""
    activity = RandomActivity(seed, buyer, seller, stranger)
    restrict_to(monkeypatch, *activity.threads)
    reconcile.reconcile_index()
    for _ in range(60):
        activity.step()
    indexer.index_queued()
    reconcile.reconcile_index()
    incremental = snapshot(*activity.threads)
    assert incremental[0]
    assert {each[1] for each in incremental[0]} == {*activity.threads}
    for thread in activity.threads:
        index.remove_thread(thread)
        index.index_thread(thread)
    assert snapshot(*activity.threads) == incremental


def restrict_to(monkeypatch, *threads: str) -> None:
    """Limits the reconciliation to these threads, since the table also holds threads of other
    tests."""
    due = reconcile._due
    monkeypatch.setattr(reconcile, "_due", lambda days: {*threads} & set(due(days)))
    monkeypatch.setattr(reconcile, "_all_threads", lambda: threads)


def test_a_lost_change_is_found_despite_a_later_indexed_change(thread, buyer, seller, monkeypatch):
    removed, edited = say(buyer, thread, "A secret"), say(buyer, thread, "The first version")
    indexer.index_queued()
    restrict_to(monkeypatch, thread)
    reconcile.reconcile_index()
    remove_message(buyer, thread_id=thread, message_id=removed.id)
    discard_queue()
    edit_message(buyer, thread_id=thread, message_id=edited.id, body="The second")
    indexer.index_queued()
    assert reconcile.reconcile_index() == 1
    assert not IndexedMessage.objects.filter(folded__contains="secret").exists()
    assert reconcile.reconcile_index() == 0


def test_new_messages_are_indexed_without_reading_earlier_ones(thread, buyer, monkeypatch):
    """A tab edit or a lock is a change of the thread, which does not cause earlier messages to be
    read."""
    for _ in range(30):
        say(buyer, thread)
    indexer.index_queued()
    lock_thread(thread_id=thread, reason="A look")
    unlock_thread(thread_id=thread)
    say(buyer, thread, "The newest")
    put: list[int] = []
    real = index._put
    monkeypatch.setattr(index, "_put", lambda *given: put.append(len(given[2])) or real(*given))
    indexer.index_queued()
    # The newest message, the system messages of lock and unlock, and the message before them.
    assert sum(put) <= 4
    assert IndexedMessage.objects.filter(thread=thread, folded="the newest").exists()


def test_the_command_rebuilds_the_index_and_removes_missing_threads(thread, buyer, seller, capsys):
    say(buyer, thread, "The light is good")
    indexer.index_queued()
    incremental = snapshot(thread)
    IndexedMessage.objects.filter(thread=thread).update(folded="something else")
    IndexedThread.objects.create(pk="thrd_gone", seq=0, rev=0, roster_version=0, kind="inquiry")
    call_command("rebuild_search")
    assert "Indexed 1 conversations." in capsys.readouterr().out
    assert snapshot(thread) == incremental
    assert not IndexedThread.objects.filter(pk="thrd_gone").exists()


def test_changes_lost_in_a_crash_are_found_by_reconciliation(thread, buyer, seller, monkeypatch):
    indexer.index_queued()
    assert reconcile.reconcile_index() == 1
    message = say(buyer, thread, "Before the crash")
    other = start(seller, buyer, "In a new thread")
    edit_message(buyer, thread_id=thread, message_id=message.id, body="Edited before the crash")
    discard_queue()
    assert search(seller, query_parser.parse_query("crash")) == []
    restrict_to(monkeypatch, thread, other)
    assert reconcile.reconcile_index() == 2
    assert find(seller, "edited crash") == ["Edited before the crash"]
    assert find(seller, "new thread") == ["In a new thread"]
    assert messages_of(other)
    assert reconcile.reconcile_index() == 0


def test_sending_does_not_query_the_index(thread, buyer, django_assert_num_queries):
    say(buyer, thread)
    with django_assert_num_queries(0), count_requests() as requests:
        say(buyer, thread)
    assert requests == ["TransactWriteItems"]


def test_the_lag_is_measured(thread, buyer, monkeypatch):
    indexer.index_queued()
    assert queue.lag_seconds() == 0
    say(buyer, thread)
    before = queue.lag_seconds()
    assert 0 < before < queue.lag_seconds()
    # The lag also grows while an entry is indexed, so that an indexer that hangs is noticed.
    during = []
    monkeypatch.setattr(
        indexer, "index_thread", lambda *given, pause: during.append(queue.lag_seconds())
    )
    indexer.index_queued()
    assert during
    assert min(during) > before
    assert queue.lag_seconds() == 0


def test_a_failed_entry_stays_queued_and_is_retried(thread, buyer, seller, monkeypatch):
    message = say(buyer, thread, "The first version")
    indexer.index_queued()
    edit_message(buyer, thread_id=thread, message_id=message.id, body="The second try")
    with monkeypatch.context() as broken:
        broken.setattr(indexer, "index_thread", lambda *given, pause: 1 / 0)
        before = queue.lag_seconds()
        indexer.index_queued()
        assert queue.lag_seconds() > before
    assert find(seller, "second") == ["The second try"]
    assert queue.lag_seconds() == 0


def test_indexing_pauses_between_batches_of_a_long_history(thread, buyer, monkeypatch):
    for number in range(8):
        say(buyer, thread, f"Number {number}")
    count = len(messages_of(thread))
    monkeypatch.setattr(index, "BATCH_SIZE", 3)
    pauses: list[float] = []
    index.index_thread(thread, pause=pauses.append)
    assert len(pauses) == count // 3
    assert IndexedMessage.objects.filter(thread_id=thread).count() == count
