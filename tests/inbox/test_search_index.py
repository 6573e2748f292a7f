"""The index of search: grown as people write, or made anew, it is the same one."""

import random
from datetime import UTC, datetime

import pytest
from django.core.management import call_command

from accounts.actions import PROFILE_FIELDS, change_profile
from core.outbox.processing import process_due
from inbox.models import IndexedMessage, IndexedPerson, IndexedThread
from inbox.search import index, indexer, query_parser, queue, reconcile
from inbox.search.search import search
from tests.inbox.conftest import lose_noted
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
def nothing_noted() -> None:
    """Of what other tests did in this process."""
    lose_noted()


def snapshot(*threads: str) -> tuple[list[tuple], ...]:
    """All that it holds, but for the numbers of its own rows."""
    messages = IndexedMessage.objects.filter(thread__in=threads).order_by("message_id")
    people = IndexedPerson.objects.filter(thread__in=threads).order_by("thread", "user_id")
    known = IndexedThread.objects.filter(pk__in=threads).order_by("pk")
    said = [name.attname for name in IndexedMessage._meta.fields if name.attname != "id"]
    return (
        list(messages.values_list(*said)),
        list(people.values_list("thread", "user_id", "from_seq")),
        list(known.values_list()),
    )


class Talk:
    """People who write, and take back, and come and go, and servers that die."""

    def __init__(self, seed: int, buyer, seller, guest) -> None:
        self.dice = random.Random(seed)
        self.buyer, self.seller, self.guest = buyer, seller, guest
        self.threads = [start(buyer, seller), start(buyer, seller)]
        self.guests: set[str] = set()
        self.hidden: list[tuple[str, str]] = []
        self.number = 0

    def step(self) -> None:
        acts = [self.say] * 6 + [self.edit, self.react, self.remove, self.hide, self.show]
        acts += [self.black_out, self.lock, self.come_or_go, self.rename, self.archive]
        acts += [indexer.index_queued] * 3 + [lose_noted]
        self.dice.choice(acts)()

    @property
    def thread(self) -> str:
        return self.dice.choice(self.threads)

    def any_of(self, thread: str):
        """One that can still be changed by whoever wrote it."""
        said = [one for one in messages_of(thread) if one.author_id and not one.is_withheld]
        return self.dice.choice(said) if said else None

    def author(self, message):
        return {one.id: one for one in (self.buyer, self.seller)}.get(message.author_id)

    def say(self) -> None:
        self.number += 1
        author = self.dice.choice((self.buyer, self.seller))
        say(author, self.thread, f"Words {self.number}")

    def edit(self) -> None:
        self._of_its_author(lambda user, one: edit_message(user, **one, body=f"Other {one}"))

    def react(self) -> None:
        self._of_its_author(lambda user, one: set_reaction(user, **one, reaction="👍", on=True))

    def remove(self) -> None:
        self._of_its_author(lambda user, one: remove_message(user, **one))

    def _of_its_author(self, change) -> None:
        thread = self.thread
        message = self.any_of(thread)
        if message is not None and (user := self.author(message)):
            change(user, {"thread_id": thread, "message_id": message.id})

    def hide(self) -> None:
        thread = self.thread
        if message := self.any_of(thread):
            hide_message(thread_id=thread, message_id=message.id)
            self.hidden.append((thread, message.id))

    def show(self) -> None:
        if self.hidden:
            thread, message_id = self.hidden.pop()
            unhide_message(thread_id=thread, message_id=message_id)

    def black_out(self) -> None:
        thread = self.thread
        if (message := self.any_of(thread)) and "Words" in (message.body or ""):
            redact_message(thread_id=thread, message_id=message.id, text="Words")

    def lock(self) -> None:
        """A change that is none of a message."""
        thread = self.thread
        lock_thread(thread_id=thread, reason="A look")
        unlock_thread(thread_id=thread)

    def come_or_go(self) -> None:
        thread = self.thread
        if thread not in self.guests:
            add_friend(self.buyer, thread_id=thread, user=self.guest)
        elif self.dice.random() < 0.5:
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
def test_grown_in_any_way_it_equals_the_one_that_is_made_anew(
    buyer, seller, stranger, monkeypatch, seed
):
    """Also if a server died before it took in what it knew: that is found by comparing."""
    talk = Talk(seed, buyer, seller, stranger)
    only(monkeypatch, *talk.threads)
    reconcile.reconcile_index()
    for _ in range(60):
        talk.step()
    indexer.index_queued()
    reconcile.reconcile_index()
    grown = snapshot(*talk.threads)
    assert grown[0]
    assert {each[1] for each in grown[0]} == {*talk.threads}
    for thread in talk.threads:
        index.remove_thread(thread)
        index.index_thread(thread)
    assert snapshot(*talk.threads) == grown


def only(monkeypatch, *threads: str) -> None:
    """The table holds the threads of other tests, too."""
    due = reconcile._due
    monkeypatch.setattr(reconcile, "_due", lambda days: {*threads} & set(due(days)))
    monkeypatch.setattr(reconcile, "_all_threads", lambda: threads)


def test_a_change_that_a_dead_server_forgot_is_not_hidden_by_one_that_is_known(
    thread, buyer, seller, monkeypatch
):
    gone, edited = say(buyer, thread, "A secret"), say(buyer, thread, "The first version")
    indexer.index_queued()
    only(monkeypatch, thread)
    reconcile.reconcile_index()
    remove_message(buyer, thread_id=thread, message_id=gone.id)
    lose_noted()
    edit_message(buyer, thread_id=thread, message_id=edited.id, body="The second")
    indexer.index_queued()
    assert reconcile.reconcile_index() == 1
    assert not IndexedMessage.objects.filter(folded__contains="secret").exists()
    assert reconcile.reconcile_index() == 0


def test_what_is_new_is_taken_in_by_itself_whatever_else_was_changed(thread, buyer, monkeypatch):
    """A tab or a lock counts as a change; the messages before it are not looked at for that."""
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
    # The newest, the lines that say of the lock and its end, and the one before them.
    assert sum(put) <= 4
    assert IndexedMessage.objects.filter(thread=thread, folded="the newest").exists()


def test_the_command_makes_it_anew_and_forgets_what_is_no_longer_there(
    thread, buyer, seller, capsys
):
    say(buyer, thread, "The light is good")
    indexer.index_queued()
    grown = snapshot(thread)
    IndexedMessage.objects.filter(thread=thread).update(folded="something else")
    IndexedThread.objects.create(pk="thrd_gone", seq=0, rev=0, roster_version=0, kind="inquiry")
    call_command("rebuild_search")
    assert "Indexed 1 conversations." in capsys.readouterr().out
    assert snapshot(thread) == grown
    assert not IndexedThread.objects.filter(pk="thrd_gone").exists()


def test_what_a_crash_forgot_is_found_by_comparing(thread, buyer, seller, monkeypatch):
    indexer.index_queued()
    assert reconcile.reconcile_index() == 1
    said = say(buyer, thread, "Before the crash")
    other = start(seller, buyer, "In a new thread")
    edit_message(buyer, thread_id=thread, message_id=said.id, body="Edited before the crash")
    lose_noted()
    assert search(seller, query_parser.parse_query("crash")) == []
    only(monkeypatch, thread, other)
    assert reconcile.reconcile_index() == 2
    assert find(seller, "edited crash") == ["Edited before the crash"]
    assert find(seller, "new thread") == ["In a new thread"]
    assert messages_of(other)
    assert reconcile.reconcile_index() == 0


def test_sending_asks_the_index_for_nothing(thread, buyer, django_assert_num_queries):
    say(buyer, thread)
    with django_assert_num_queries(0), count_requests() as requests:
        say(buyer, thread)
    assert requests == ["TransactWriteItems"]


def test_the_lag_is_known(thread, buyer, monkeypatch):
    indexer.index_queued()
    assert queue.lag_seconds() == 0
    say(buyer, thread)
    before = queue.lag_seconds()
    assert 0 < before < queue.lag_seconds()
    # Also while it is being taken in: a feeder that hangs is seen.
    during = []
    monkeypatch.setattr(
        indexer, "index_thread", lambda *given, pause: during.append(queue.lag_seconds())
    )
    indexer.index_queued()
    assert during
    assert min(during) > before
    assert queue.lag_seconds() == 0


def test_what_could_not_be_taken_in_waits_on_and_is_tried_again(thread, buyer, seller, monkeypatch):
    said = say(buyer, thread, "The first version")
    indexer.index_queued()
    edit_message(buyer, thread_id=thread, message_id=said.id, body="The second try")
    with monkeypatch.context() as broken:
        broken.setattr(indexer, "index_thread", lambda *given, pause: 1 / 0)
        before = queue.lag_seconds()
        indexer.index_queued()
        assert queue.lag_seconds() > before
    assert find(seller, "second") == ["The second try"]
    assert queue.lag_seconds() == 0


def test_it_rests_in_the_middle_of_a_long_history(thread, buyer, monkeypatch):
    for number in range(8):
        say(buyer, thread, f"Number {number}")
    count = len(messages_of(thread))
    monkeypatch.setattr(index, "BATCH_SIZE", 3)
    rests: list[float] = []
    index.index_thread(thread, pause=rests.append)
    assert len(rests) == count // 3
    assert IndexedMessage.objects.filter(thread_id=thread).count() == count
