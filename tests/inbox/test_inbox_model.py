"""Folders and filters say what a plain model of them says, whatever happens, and in what order."""

import random
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

import pytest

from contracts.models import Card, Leg
from inbox.queries import (
    ACTION_REQUIRED,
    FOLDERS,
    UNREAD,
    count_rows,
    list_action_required,
    list_folder,
    list_projects,
    list_unread,
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

OWN = {
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
class Standing:
    """One thread in one person's inbox."""

    folder: str = "inbox"
    pinned: bool = False
    muted: bool = False
    marked: bool = False
    at: int = 0
    # Numbers of messages by people; one's own among those that came after what was read.
    said: int = 0
    read: int = 0
    own: int = 0
    # The same with the lines of the service: who has not seen one has not seen everything.
    lines: int = 0
    read_lines: int = 0

    def own_act(self, act: str) -> None:
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
                self._see_all()

    def _see_all(self) -> None:
        self.read, self.read_lines = self.said, self.lines
        self.own, self.marked = 0, False

    def hear_line(self, at: int) -> None:
        self._move(at)
        self.lines += 1

    def _move(self, at: int) -> None:
        self.at = at
        self.folder = "inbox" if self.folder == "archived" else self.folder

    def hear(self, at: int, *, mine: bool) -> None:
        had_seen = self.read + self.own == self.said and self.read_lines == self.lines
        self._move(at)
        self.said += 1
        if mine and had_seen:
            self._see_all()
        elif mine:
            self.own += 1

    @property
    def unread(self) -> int:
        return self.said - self.read - self.own


@dataclass
class Model:
    threads: dict[str, dict[str, Standing]] = field(default_factory=dict)
    clock: int = 0
    booked: set[str] = field(default_factory=set)
    # By thread: the offer or card that waits for the buyer, and who has not signed.
    pending: dict[str, Any] = field(default_factory=dict)
    unsigned: dict[str, list[str]] = field(default_factory=dict)
    # By thread: who has to answer, as far as words go. Nobody, when something was dealt with.
    owing: dict[str, str] = field(default_factory=dict)

    def line(self, thread: str) -> None:
        """The service speaks."""
        self.clock += 1
        for standing in self.threads[thread].values():
            standing.hear_line(self.clock)

    def say(self, user_id: str, thread: str) -> None:
        self.clock += 1
        for each, standing in self.threads[thread].items():
            standing.hear(self.clock, mine=each == user_id)
        if not self.awaited(thread):
            (self.owing[thread],) = self.threads[thread].keys() - {user_id}

    def awaited(self, thread: str) -> set[str]:
        buyer, _ = self.threads[thread]
        return set(self.unsigned.get(thread, [])) | ({buyer} if thread in self.pending else set())

    def waits_for(self, user, thread: str) -> str:
        """As a row says it."""
        waits = self.awaited(thread) or {self.owing[thread]} - {""}
        return "" if not waits else "you" if user.id in waits else "them"

    def of(self, user) -> dict[str, Standing]:
        return {thread: people[user.id] for thread, people in self.threads.items()}

    def listed(self, user, folder: str) -> list[str]:
        mine = self.of(user)
        there = [thread for thread, standing in mine.items() if standing.folder == folder]
        return sorted(there, key=lambda t: (mine[t].pinned, mine[t].at), reverse=True)

    def unread(self, user) -> list[str]:
        mine = self.of(user)
        return [t for t in self.listed(user, "inbox") if mine[t].unread or mine[t].marked]

    def projects(self, user) -> list[str]:
        return [thread for thread in self.listed(user, "inbox") if thread in self.booked]

    def required(self, user) -> list[str]:
        return [t for t in self.listed(user, "inbox") if user.id in self.awaited(t)]

    def settle(self, thread: str, before: set[str]) -> None:
        """What was dealt with last leaves nobody waiting."""
        if before and not self.awaited(thread):
            self.owing[thread] = ""


def deal(model: Model, thread: str, buyer, seller, dice: random.Random) -> None:
    """An offer, turned down or accepted; then a contract that both sign; then cards."""
    before, said = model.awaited(thread), len(messages_of(thread))
    if thread in model.pending:
        _answer(model, thread, buyer, seller, dice.choice(("yes", "no")))
    elif model.unsigned.get(thread):
        signer = dice.choice([one for one in (buyer, seller) if one.id in model.unsigned[thread]])
        sign(signer, Leg.objects.get(thread_id=thread))
        model.unsigned[thread].remove(signer.id)
    elif thread in model.booked:
        leg = Leg.objects.get(thread_id=thread)
        model.pending[thread] = propose("extras", leg)
    else:
        model.pending[thread] = offer_in(thread, seller)
    for message in messages_of(thread)[said:]:
        if message.author_id:
            model.say(message.author_id, thread)
        else:
            model.line(thread)
    model.settle(thread, before)


def _answer(model: Model, thread: str, buyer, seller, how: str) -> None:
    waiting = model.pending.pop(thread)
    if isinstance(waiting, Card):
        answer(buyer, waiting, "accept" if how == "yes" else "decline")
    elif how == "yes":
        accept_offer(buyer, offer_id=waiting.id)
        model.booked.add(thread)
        model.unsigned[thread] = [buyer.id, seller.id]
    else:
        withdraw_offer(seller, offer_id=waiting.id)


def begin(model: Model, buyer, seller) -> str:
    thread = start(buyer, seller)
    model.threads[thread] = {buyer.id: Standing(), seller.id: Standing()}
    model.say(buyer.id, thread)
    return thread


def compare(model: Model, user) -> None:
    for folder in FOLDERS:
        assert ids(list_folder(user, folder)) == model.listed(user, folder)
    assert ids(list_unread(user)) == model.unread(user)
    assert ids(list_projects(user)) == model.projects(user)
    required = model.required(user)
    assert ids(list_action_required(user)) == required
    counts = count_rows(user)
    assert counts[UNREAD] == len(model.unread(user))
    assert counts[ACTION_REQUIRED] == len(required)
    for thread, standing in model.of(user).items():
        item = row(thread, user)
        assert row_of(user, item).waits_for == model.waits_for(user, thread)
        assert (item.unread, bool(item.marked_unread), item.is_muted) == (
            standing.unread,
            standing.marked,
            standing.muted,
        )


@pytest.mark.parametrize("seed", range(6))
def test_one_after_the_other_they_agree_at_every_step(buyer, seller, seed):
    dice, model = random.Random(seed), Model()
    threads = [begin(model, buyer, seller) for _ in range(4)]
    for _ in range(40):
        user, thread = dice.choice((buyer, seller)), dice.choice(threads)
        act = dice.choice(["say"] * 5 + ["deal"] * 4 + list(OWN))
        if act == "say":
            say(user, thread)
            model.say(user.id, thread)
        elif act == "deal":
            deal(model, thread, buyer, seller, dice)
        else:
            OWN[act](user, thread_id=thread)
            model.threads[thread][user.id].own_act(act)
        compare(model, user)
    assert_consistent(*threads)
    for thread in threads:
        assert list(list_differences(thread)) == []


@pytest.mark.parametrize("seed", range(3))
def test_under_concurrent_messages_nothing_is_lost_doubled_or_misplaced(buyer, seller, seed):
    """People write from all sides while rows are moved; pages are right meanwhile and after."""
    threads = [start(buyer, seller) for _ in range(5)]
    booked, asked, dealt = threads[:3]
    sign(buyer, book(booked, buyer, seller))
    sign(seller, Leg.objects.get(thread_id=booked))
    offer_in(asked, buyer)
    # Where somebody has to answer since the last of these was dealt with, as far as words go.
    ended: dict[str, str] = {}
    # Only the actions of one person on one thread come in a known order.
    last_acts: dict[str, str] = {}

    def write(user, number: int) -> None:
        dice = random.Random(f"{seed} {number}")
        for _ in range(12):
            say(user, dice.choice(threads))

    def move(thread: str) -> None:
        dice = random.Random(f"{seed} {thread}")
        for _ in range(10):
            act = dice.choice(list(OWN))
            OWN[act](seller, thread_id=thread)
            if act in ("pin", "unpin"):
                last_acts[f"pin {thread}"] = act
            elif act in ("mute", "unmute"):
                last_acts[f"mute {thread}"] = act
            elif act in ("archive", "restore", "spam"):
                last_acts[f"folder {thread}"] = act

    def look() -> None:
        for folder in FOLDERS:
            rows = list_folder(seller, folder).rows
            assert [each.folder for each in rows] == [folder] * len(rows)
            keys = [each.inbox_sk for each in rows]
            assert keys == sorted(set(keys), reverse=True)
            assert len({each.thread_id for each in rows}) == len(rows)
        counted = count_rows(seller)[ACTION_REQUIRED]
        assert counted <= 2
        for only, list_them in filters.items():
            rows = list_them(seller).rows
            assert all(each.folder == "inbox" and only(each) for each in rows)
            keys = [each.inbox_sk for each in rows]
            assert keys == sorted(keys, reverse=True)

    filters = {
        lambda each: each.has_unread: list_unread,
        lambda each: each.thread_id == booked: list_projects,
        lambda each: each.thread_id in (asked, dealt): list_action_required,
    }
    with ThreadPoolExecutor(12) as pool:
        jobs = [pool.submit(write, user, n) for n, user in enumerate((buyer, seller, buyer))]
        jobs += [pool.submit(move, thread) for thread in threads]
        # Here, since what was agreed is in a transaction of this thread.
        while wait(jobs, timeout=0).not_done:
            offer = offer_in(dealt, buyer)
            look()
            decline_offer(seller, offer_id=offer.id)
            ended[dealt] = f"{offer.id}:declined"
            look()
        for job in jobs:
            job.result()
    look()

    assert_consistent(*threads)
    items = {thread: row(thread, seller) for thread in threads}
    for folder in FOLDERS:
        there = [item for item in items.values() if item.folder == folder]
        there.sort(key=lambda item: item.inbox_sk, reverse=True)
        assert ids(list_folder(seller, folder)) == [item.thread_id for item in there]
    for thread, item in items.items():
        if f"pin {thread}" in last_acts:
            assert item.pinned == (last_acts[f"pin {thread}"] == "pin")
        if f"mute {thread}" in last_acts:
            assert item.is_muted == (last_acts[f"mute {thread}"] == "mute")
        # Nothing but its owner moves a row, except that an archived one comes back.
        allowed = {"spam": {"spam"}, "restore": {"inbox"}, "archive": {"archived", "inbox"}}
        assert item.folder in allowed[last_acts.get(f"folder {thread}", "restore")]
    unread = {item.thread_id for item in items.values() if item.unread_pk}
    assert set(ids(list_unread(seller))) == unread
    assert count_rows(seller)[UNREAD] == len(unread)
    kept = [thread for thread in (booked, asked) if items[thread].folder == "inbox"]
    required = [thread for thread in kept if thread == asked]
    assert ids(list_action_required(seller)) == required
    assert count_rows(seller)[ACTION_REQUIRED] == len(required)
    for thread in threads:
        assert list(list_differences(thread)) == []
        wanted = "you" if thread == asked else last_words(thread, seller, ended.get(thread, ""))
        assert row_of(seller, items[thread]).waits_for == wanted
    assert ids(list_projects(seller)) == [thread for thread in kept if thread == booked]


def last_words(thread: str, user, ended: str) -> str:
    """Who has to answer: whoever did not write last, unless nobody wrote since all was settled."""
    said = messages_of(thread)
    ends = [number for number, one in enumerate(said) if ended and one.client_id == ended]
    authors = [one.author_id for one in said[ends[0] if ends else 0 :] if one.author_id]
    return "" if not authors else "them" if authors[-1] == user.id else "you"


def test_people_who_come_later_have_a_row_that_is_right(thread, buyer, seller):
    from tests.threads.conftest import add_friend

    guest = make_person("Gus")
    say(seller, thread)
    add_friend(buyer, thread_id=thread, user=guest)
    assert row(thread, guest).waiting_for == buyer.id
    assert_consistent(thread)
