"""Folders and filters equal those of a simple model after any sequence of actions."""

import random
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

import pytest

from contracts.models import Card, Leg
from inbox.queries import (
    FOLDERS,
    UNREAD,
    WAITING,
    count_rows,
    list_folder,
    list_projects,
    list_unread,
    list_waiting,
)
from inbox.rows import row_of
from projects.actions.bookings import accept_offer, decline_offer, withdraw_offer
from projects.panel.rebuild import list_differences
from tests.contracts.card_helpers import answer, propose
from tests.contracts.conftest import book, offer_in, sign
from tests.inbox.test_list_folder import ids
from tests.threads.checker import assert_consistent
from tests.threads.conftest import make_person, messages_of, row, say, start
from threads.actions.cursors import mark_all_read
from threads.actions.folders import (
    archive_thread,
    mark_spam,
    mark_unread,
    mute_thread,
    pin_thread,
    restore_thread,
    unmute_thread,
    unpin_thread,
)

pytestmark = [pytest.mark.indexes, pytest.mark.slow]

USER_ACTIONS = {
    "pin": pin_thread,
    "unpin": unpin_thread,
    "archive": archive_thread,
    "restore": restore_thread,
    "spam": mark_spam,
    "mute": mute_thread,
    "unmute": unmute_thread,
    "unread": mark_unread,
    "read": mark_all_read,
}


@dataclass
class ModelRow:
    """One thread in one user's inbox."""

    folder: str = "inbox"
    pinned: bool = False
    muted: bool = False
    marked: bool = False
    at: int = 0
    # Numbers of user messages: all, read, and the user's own after the read position.
    messages: int = 0
    read: int = 0
    own: int = 0
    # Numbers of system messages: an unread one means that not everything is read.
    system_messages: int = 0
    read_system_messages: int = 0

    def apply_action(self, act: str) -> None:
        match act:
            case "pin" | "unpin":
                self.pinned = act == "pin"
            case "mute" | "unmute":
                self.muted = act == "mute"
            case "archive" | "restore" | "spam":
                self.folder = {"archive": "archived", "restore": "inbox"}.get(act, act)
            case "unread":
                self.marked = self.marked or not self.unread
            case "read":
                self._read_all()

    def _read_all(self) -> None:
        self.read, self.read_system_messages = self.messages, self.system_messages
        self.own, self.marked = 0, False

    def receive_system_message(self, at: int) -> None:
        self._touch(at)
        self.system_messages += 1

    def _touch(self, at: int) -> None:
        self.at = at
        self.folder = "inbox" if self.folder == "archived" else self.folder

    def receive(self, at: int, *, is_own: bool) -> None:
        had_read_all = (
            self.read + self.own == self.messages
            and self.read_system_messages == self.system_messages
        )
        self._touch(at)
        self.messages += 1
        if is_own and had_read_all:
            self._read_all()
        elif is_own:
            self.own += 1

    @property
    def unread(self) -> int:
        return self.messages - self.read - self.own


@dataclass
class Model:
    threads: dict[str, dict[str, ModelRow]] = field(default_factory=dict)
    clock: int = 0
    booked: set[str] = field(default_factory=set)
    # By thread: the offer or card pending for the buyer, and the users who have not signed.
    pending: dict[str, Any] = field(default_factory=dict)
    unsigned: dict[str, list[str]] = field(default_factory=dict)

    def add_system_message(self, thread: str) -> None:
        self.clock += 1
        for row_model in self.threads[thread].values():
            row_model.receive_system_message(self.clock)

    def add_message(self, user_id: str, thread: str) -> None:
        self.clock += 1
        for each, row_model in self.threads[thread].items():
            row_model.receive(self.clock, is_own=each == user_id)

    def required_users(self, thread: str) -> set[str]:
        buyer, _ = self.threads[thread]
        unsigned = self.unsigned.get(thread, [])
        # The deposit is due once both have signed.
        owes = thread in self.pending or (thread in self.booked and not unsigned)
        return {*unsigned, *([buyer] if owes else [])}

    def waits_for(self, user, thread: str) -> str:
        """Returns the label of the row."""
        waits = self.required_users(thread)
        return "" if not waits else "you" if user.id in waits else "them"

    def of(self, user) -> dict[str, ModelRow]:
        return {thread: people[user.id] for thread, people in self.threads.items()}

    def listed(self, user, folder: str) -> list[str]:
        mine = self.of(user)
        in_folder = [thread for thread, row_model in mine.items() if row_model.folder == folder]
        return sorted(in_folder, key=lambda t: (mine[t].pinned, mine[t].at), reverse=True)

    def unread(self, user) -> list[str]:
        mine = self.of(user)
        return [t for t in self.listed(user, "inbox") if mine[t].unread or mine[t].marked]

    def projects(self, user) -> list[str]:
        return [thread for thread in self.listed(user, "inbox") if thread in self.booked]

    def required(self, user) -> list[str]:
        return [t for t in self.listed(user, "inbox") if user.id in self.required_users(t)]


def advance_booking(model: Model, thread: str, buyer, seller, rng: random.Random) -> None:
    """Takes the next step: an offer, its answer, a contract signed by both, then cards."""
    message_count = len(messages_of(thread))
    if thread in model.pending:
        _answer(model, thread, buyer, seller, rng.choice(("yes", "no")))
    elif model.unsigned.get(thread):
        signer = rng.choice([one for one in (buyer, seller) if one.id in model.unsigned[thread]])
        sign(signer, Leg.objects.get(thread_id=thread))
        model.unsigned[thread].remove(signer.id)
    elif thread in model.booked:
        leg = Leg.objects.get(thread_id=thread)
        model.pending[thread] = propose("extras", leg)
    else:
        model.pending[thread] = offer_in(thread, seller)
    for message in messages_of(thread)[message_count:]:
        if message.author_id:
            model.add_message(message.author_id, thread)
        else:
            model.add_system_message(thread)


def _answer(model: Model, thread: str, buyer, seller, how: str) -> None:
    pending = model.pending.pop(thread)
    if isinstance(pending, Card):
        answer(buyer, pending, "accept" if how == "yes" else "decline")
    elif how == "yes":
        accept_offer(buyer, offer_id=pending.id)
        model.booked.add(thread)
        model.unsigned[thread] = [buyer.id, seller.id]
    else:
        withdraw_offer(seller, offer_id=pending.id)


def begin(model: Model, buyer, seller) -> str:
    thread = start(buyer, seller)
    model.threads[thread] = {buyer.id: ModelRow(), seller.id: ModelRow()}
    model.add_message(buyer.id, thread)
    return thread


def compare(model: Model, user) -> None:
    for folder in FOLDERS:
        assert ids(list_folder(user, folder)) == model.listed(user, folder)
    assert ids(list_unread(user)) == model.unread(user)
    assert ids(list_projects(user)) == model.projects(user)
    required = model.required(user)
    assert ids(list_waiting(user)) == required
    counts = count_rows(user)
    assert counts[UNREAD] == len(model.unread(user))
    assert counts[WAITING] == len(required)
    for thread, row_model in model.of(user).items():
        item = row(thread, user)
        assert row_of(user, item).waits_for == model.waits_for(user, thread)
        assert (item.unread, bool(item.marked_unread), item.is_muted) == (
            row_model.unread,
            row_model.marked,
            row_model.muted,
        )


@pytest.mark.parametrize("seed", range(6))
def test_inbox_and_model_agree_after_every_sequential_step(buyer, seller, seed):
    rng, model = random.Random(seed), Model()
    threads = [begin(model, buyer, seller) for _ in range(4)]
    for _ in range(40):
        user, thread = rng.choice((buyer, seller)), rng.choice(threads)
        act = rng.choice(["say"] * 5 + ["advance"] * 4 + list(USER_ACTIONS))
        if act == "say":
            say(user, thread)
            model.add_message(user.id, thread)
        elif act == "advance":
            advance_booking(model, thread, buyer, seller, rng)
        else:
            USER_ACTIONS[act](user, thread_id=thread)
            model.threads[thread][user.id].apply_action(act)
        compare(model, user)
    assert_consistent(*threads)
    for thread in threads:
        assert list(list_differences(thread)) == []


@pytest.mark.parametrize("seed", range(3))
def test_concurrent_messages_lose_duplicate_or_misplace_no_row(buyer, seller, seed):
    """Users write concurrently while rows are moved; lists are correct during and after."""
    threads = [start(buyer, seller) for _ in range(5)]
    booked, offered, declined = threads[:3]
    sign(buyer, book(booked, buyer, seller))
    sign(seller, Leg.objects.get(thread_id=booked))
    offer_in(offered, buyer)
    # Only the actions of one user on one thread have a known order.
    last_acts: dict[str, str] = {}

    def write(user, number: int) -> None:
        rng = random.Random(f"{seed} {number}")
        for _ in range(12):
            say(user, rng.choice(threads))

    def run_actions(thread: str) -> None:
        rng = random.Random(f"{seed} {thread}")
        for _ in range(10):
            act = rng.choice(list(USER_ACTIONS))
            USER_ACTIONS[act](seller, thread_id=thread)
            if act in ("pin", "unpin"):
                last_acts[f"pin {thread}"] = act
            elif act in ("mute", "unmute"):
                last_acts[f"mute {thread}"] = act
            elif act in ("archive", "restore", "spam"):
                last_acts[f"folder {thread}"] = act

    def check_lists() -> None:
        for folder in FOLDERS:
            rows = list_folder(seller, folder).rows
            assert [each.folder for each in rows] == [folder] * len(rows)
            keys = [each.position for each in rows]
            assert keys == sorted(set(keys), reverse=True)
            assert len({each.thread_id for each in rows}) == len(rows)
        counted = count_rows(seller)[WAITING]
        assert counted <= 2
        for condition, list_them in filters.items():
            rows = list_them(seller).rows
            assert all(each.folder == "inbox" and condition(each) for each in rows)
            keys = [each.position for each in rows]
            assert keys == sorted(keys, reverse=True)

    filters = {
        lambda each: each.has_unread: list_unread,
        lambda each: each.thread_id == booked: list_projects,
        lambda each: each.thread_id in (offered, declined): list_waiting,
    }
    with ThreadPoolExecutor(12) as pool:
        jobs = [pool.submit(write, user, n) for n, user in enumerate((buyer, seller, buyer))]
        jobs += [pool.submit(run_actions, thread) for thread in threads]
        # In this thread, since the test's database transaction belongs to it.
        while wait(jobs, timeout=0).not_done:
            offer = offer_in(declined, buyer)
            check_lists()
            decline_offer(seller, offer_id=offer.id)
            check_lists()
        for job in jobs:
            job.result()
    check_lists()

    assert_consistent(*threads)
    items = {thread: row(thread, seller) for thread in threads}
    for folder in FOLDERS:
        in_folder = [item for item in items.values() if item.folder == folder]
        in_folder.sort(key=lambda item: item.position, reverse=True)
        assert ids(list_folder(seller, folder)) == [item.thread_id for item in in_folder]
    for thread, item in items.items():
        if f"pin {thread}" in last_acts:
            assert item.pinned == (last_acts[f"pin {thread}"] == "pin")
        if f"mute {thread}" in last_acts:
            assert item.is_muted == (last_acts[f"mute {thread}"] == "mute")
        # Only its owner moves a row, except that a message restores an archived one.
        allowed = {"spam": {"spam"}, "restore": {"inbox"}, "archive": {"archived", "inbox"}}
        assert item.folder in allowed[last_acts.get(f"folder {thread}", "restore")]
    unread = {item.thread_id for item in items.values() if item.unread_pk}
    assert set(ids(list_unread(seller))) == unread
    assert count_rows(seller)[UNREAD] == len(unread)
    in_inbox = [thread for thread in (booked, offered) if items[thread].folder == "inbox"]
    required = [thread for thread in in_inbox if thread == offered]
    assert ids(list_waiting(seller)) == required
    assert count_rows(seller)[WAITING] == len(required)
    for thread in threads:
        assert list(list_differences(thread)) == []
        expected = {offered: "you", booked: "them"}.get(thread, "")
        assert row_of(seller, items[thread]).waits_for == expected
    assert ids(list_projects(seller)) == [thread for thread in in_inbox if thread == booked]


def test_a_participant_added_later_has_a_correct_row(thread, buyer, seller):
    from tests.threads.conftest import add_friend

    guest = make_person("Gus")
    say(seller, thread)
    add_friend(buyer, thread_id=thread, user=guest)
    assert row(thread, guest).waiting_for == buyer.id
    assert_consistent(thread)
