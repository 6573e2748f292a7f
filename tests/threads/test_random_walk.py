"""A seeded random walk over all actions, compared with a model.

Four users, two threads, and three processes that do not receive each other's events. After every
step all stored items are compared with the model.
"""

import random
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import combinations

import pytest

from accounts.models import User
from core.refusals import Refusal
from inbox.queries import list_folder
from tests.threads.checker import find_problems, read_partition
from tests.threads.conftest import (
    befriend,
    deliver_up_to,
    make_person,
    messages_of,
    read_up_to,
    say,
    start,
)
from threads import cache
from threads.actions.blocks import block_person, unblock_person
from threads.actions.folders import archive_thread, pin_thread, restore_thread, unpin_thread
from threads.actions.participants import add_participant, leave_thread, remove_participant
from threads.actions.requests import accept_request
from threads.models import Invitation, Message, Participant
from threads.queries import open_thread

pytestmark = [pytest.mark.indexes, pytest.mark.slow]


@dataclass
class Member:
    visible_from: int
    read: int
    delivered: int
    folder: str = "inbox"
    pinned: bool = False
    # Whether the seller added this member.
    added_by_seller: bool = False


@dataclass
class Model:
    """Expected state of one thread: its authors, and the view of each member."""

    id: str
    principals: tuple[str, str]
    authors: list[str | None]
    members: dict[str, Member]
    # Step of the last message, which orders the inbox.
    at: int = 0
    # Users who left by their own action.
    left: set[str] = field(default_factory=set)
    # Invited users with their inviters.
    invited: dict[str, str] = field(default_factory=dict)

    @property
    def last(self) -> int:
        return len(self.authors)

    def unread(self, user_id: str) -> int:
        later = self.authors[self.members[user_id].read :]
        return sum(author not in (None, user_id) for author in later)

    def append(self, author: str | None, step: int, *, saw_all: bool = False) -> None:
        caught_up = author is not None and (
            saw_all or all(each == author for each in self.authors[self.members[author].read :])
        )
        self.authors.append(author)
        self.at = step
        for member in self.members.values():
            if member.folder == "archived":
                member.folder = "inbox"
        if author is not None and caught_up:
            self.members[author].read = self.members[author].delivered = self.last


@dataclass
class Walk:
    seed: int
    chance: random.Random = field(init=False)
    people: list[User] = field(init=False)
    models: list[Model] = field(init=False)
    blocks: set[tuple[str, str]] = field(default_factory=set)
    step: int = 0
    processes: list[OrderedDict] = field(init=False)
    done: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.people = [make_person(name) for name in ("Ann", "Ben", "Cleo", "Dan")]
        for one, other in combinations(self.people, 2):
            befriend(one, other)
        self.models = [self._start(0, 1), self._start(2, 1)]
        self.processes = [OrderedDict() for _ in range(3)]

    def _start(self, buyer: int, seller: int) -> Model:
        one, other = self.people[buyer], self.people[seller]
        self.step += 1
        return Model(
            start(one, other),
            (one.id, other.id),
            [one.id],
            {one.id: Member(1, 1, 1), other.id: Member(1, 0, 0)},
            self.step,
        )

    def take_step(self) -> Model:
        self.step += 1
        cache._entries = self.chance.choice(self.processes)
        model = self.chance.choice(self.models)
        user = self.chance.choice(self.people)
        action = self.chance.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        self.done.append(f"{self.step} {action} by {user.display_name} in {model.id[-4:]}")
        getattr(self, action)(model, user)
        return model

    # --- Permissions

    def is_blocked(self, one: str, other: str) -> bool:
        return bool({(one, other), (other, one)} & self.blocks)

    def find_refusal(self, model: Model, user: User) -> str:
        """Code of the expected refusal, or an empty string."""
        if user.id not in model.members:
            return "THREAD_NOT_FOUND"
        if len(model.members) == 2 and self.is_blocked(*model.members):
            return "MSG_BLOCKED_BY_USER"
        return ""

    def expect(self, code: str, action, *args, **kwargs) -> bool:
        """Checks the expected refusal and returns whether the action succeeded."""
        given = ""
        try:
            action(*args, **kwargs)
        except Refusal as refusal:
            given = refusal.code
        assert given == code, f"{self.done[-1]}: {given or 'done'}, should be {code or 'done'}"
        return not code

    # --- Steps

    def send(self, model: Model, user: User) -> None:
        seen = self.chance.choice([0, max(0, model.last - 1), model.last])
        saw_all = seen >= model.last
        if self.expect(self.find_refusal(model, user), say, user, model.id, seen_seq=seen):
            model.append(user.id, self.step, saw_all=saw_all)

    def read(self, model: Model, user: User) -> None:
        message, code = self._place(model, user)
        if self.expect(code, read_up_to, user, message):
            member = model.members[user.id]
            member.read = max(member.read, message.seq)
            member.delivered = max(member.delivered, member.read)

    def deliver(self, model: Model, user: User) -> None:
        message, code = self._place(model, user)
        if self.expect(code, deliver_up_to, user, message):
            member = model.members[user.id]
            member.delivered = max(member.delivered, message.seq)

    def _place(self, model: Model, user: User) -> tuple[Message, str]:
        """Often the newest message, otherwise any visible one."""
        messages = messages_of(model.id)
        member = model.members.get(user.id)
        if member is None:
            return messages[-1], "THREAD_NOT_FOUND"
        if self.chance.random() < 0.5:
            return messages[-1], ""
        return self.chance.choice(messages[member.visible_from - 1 :]), ""

    def place(self, model: Model, user: User) -> None:
        action, name, value = self.chance.choice(
            [
                (pin_thread, "pinned", True),
                (unpin_thread, "pinned", False),
                (archive_thread, "folder", "archived"),
                (restore_thread, "folder", "inbox"),
            ]
        )
        if user.id in model.invited:
            return
        code = "" if user.id in model.members else "THREAD_NOT_FOUND"
        if self.expect(code, action, user, thread_id=model.id):
            setattr(model.members[user.id], name, value)

    def add(self, model: Model, user: User) -> None:
        other = self.chance.choice(self.people)
        code = self._find_manage_refusal(model, user)
        is_present = other.id in model.members or other.id in model.invited
        if not code and not is_present and self._is_blocked_here(model, other):
            code = "ACTION_FORBIDDEN"
        done = self.expect(code, add_participant, user, thread_id=model.id, user=other)
        if not done or is_present:
            return
        if other.id in model.left:
            model.invited[other.id] = user.id
        else:
            self._join(model, other, user.id)
        model.append(None, self.step)

    def _join(self, model: Model, user: User, adder_id: str) -> None:
        added_by_seller = adder_id == model.principals[1]
        last = model.last
        model.members[user.id] = Member(last + 1, last, last, added_by_seller=added_by_seller)

    def _is_blocked_here(self, model: Model, user: User) -> bool:
        return any(self.is_blocked(user.id, member) for member in model.members)

    def accept(self, model: Model, user: User) -> None:
        inviter = model.invited.get(user.id)
        code = "" if inviter or user.id in model.members else "THREAD_NOT_FOUND"
        if inviter and (inviter not in model.members or self._is_blocked_here(model, user)):
            code = "ACTION_FORBIDDEN"
        if self.expect(code, accept_request, user, thread_id=model.id) and inviter:
            del model.invited[user.id]
            model.left.discard(user.id)
            self._join(model, user, inviter)
            model.append(None, self.step)

    def remove(self, model: Model, user: User) -> None:
        other = self.chance.choice(self.people)
        if len(model.members) == 2 and other.id in model.members:
            return
        code = self._find_manage_refusal(model, user)
        member = model.members.get(other.id)
        if not code and member is not None:
            is_others_guest = user.id == model.principals[1] and not member.added_by_seller
            if other.id in model.principals or is_others_guest:
                code = "ACTION_FORBIDDEN"
        done = self.expect(code, remove_participant, user, thread_id=model.id, user_id=other.id)
        if done and model.members.pop(other.id, None):
            model.append(None, self.step)

    def leave(self, model: Model, user: User) -> None:
        if len(model.members) == 2 and user.id in model.members:
            return
        if user.id not in model.members and user.id in model.left:
            # A repeat succeeds in a process with a stale cache, and is refused in others.
            with suppress(Refusal):
                leave_thread(user, thread_id=model.id)
            return
        code = "" if user.id in model.members else "THREAD_NOT_FOUND"
        if self.expect(code, leave_thread, user, thread_id=model.id):
            del model.members[user.id]
            model.left.add(user.id)
            model.append(None, self.step)

    def _find_manage_refusal(self, model: Model, user: User) -> str:
        code = self.find_refusal(model, user)
        return code or ("" if user.id in model.principals else "ACTION_FORBIDDEN")

    def block(self, model: Model, user: User) -> None:
        other = self.chance.choice([each for each in self.people if each != user])
        block_person(user, blocked=other)
        self.blocks.add((user.id, other.id))

    def unblock(self, model: Model, user: User) -> None:
        other = self.chance.choice([each for each in self.people if each != user])
        unblock_person(user, blocked=other)
        self.blocks.discard((user.id, other.id))

    def open_page(self, model: Model, user: User) -> None:
        """Opens a page, checks its contents, and fills the cache of its process."""
        code = "" if user.id in model.members else "THREAD_NOT_FOUND"
        if self.expect(code, open_thread, user, model.id):
            opened = open_thread(user, model.id)
            first = max(model.members[user.id].visible_from, model.last - 49)
            seqs = [message.seq for message in opened.messages]
            assert seqs == list(range(first, model.last + 1))
            assert opened.has_older == (first > model.members[user.id].visible_from)
            assert opened.me.unread == model.unread(user.id)

    def invalidate_cache(self, model: Model, user: User) -> None:
        cache.invalidate(model.id)

    # --- Expected state

    def check(self, models: list[Model]) -> None:
        for model in models:
            items = read_partition(model.id)
            problems = list(find_problems(items))
            messages = [item.author_id for item in items if isinstance(item, Message)]
            if messages != model.authors:
                problems.append(f"written by {messages}, should be {model.authors}")
            rows = {item.user_id: item for item in items if type(item) is Participant}
            invited = {item.user_id for item in items if isinstance(item, Invitation)}
            if invited != model.invited.keys():
                problems.append(f"invited {sorted(invited)}, should be {sorted(model.invited)}")
            if rows.keys() != model.members.keys():
                problems.append(f"people {sorted(rows)}, should be {sorted(model.members)}")
            for user_id, member in model.members.items():
                problems += self._wrong_row(model, member, rows[user_id])
            assert not problems, "\n".join([*self.done[-12:], *problems])
        for user in self.people:
            for folder in ("inbox", "archived"):
                self._check_folder(user, folder)

    def _wrong_row(self, model: Model, member: Member, row: Participant) -> list[str]:
        def past_own(seq: int) -> int:
            # A process with a stale cursor leaves it in place and counts the user's own messages
            # after it, which is equivalent.
            while seq < model.last and model.authors[seq] == row.user_id:
                seq += 1
            return seq

        found = {
            "visible from": (row.visible_from_seq, member.visible_from),
            "read": (past_own(row.last_read_seq), past_own(member.read)),
            "delivered": (past_own(row.delivered_seq), past_own(member.delivered)),
            "folder": (row.folder, member.folder),
            "pinned": (row.pinned, member.pinned),
            "unread": (row.unread, model.unread(row.user_id)),
            "others": (row.others_count, len(model.members) - 1),
        }
        if len(model.members) == 2:
            found["blocked by"] = (row.blocked_by or set(), self.blockers_in(model))
        return [
            f"{row.person['name']}: {name} is {is_}, should be {should}"
            for name, (is_, should) in found.items()
            if is_ != should
        ]

    def blockers_in(self, model: Model) -> set[str]:
        return {
            blocker
            for blocker, blocked in self.blocks
            if blocker in model.members and blocked in model.members
        }

    def _check_folder(self, user: User, folder: str) -> None:
        mine = [
            (model.members[user.id].pinned, model.at, model.id)
            for model in self.models
            if user.id in model.members and model.members[user.id].folder == folder
        ]
        listed = [row.thread_id for row in list_folder(user, folder).rows]
        assert listed == [each[2] for each in sorted(mine, reverse=True)], self.done[-12:]


WEIGHTS = {
    "send": 10,
    "read": 6,
    "deliver": 3,
    "place": 6,
    "add": 4,
    "remove": 2,
    "leave": 1,
    "block": 1,
    "unblock": 2,
    "accept": 2,
    "open_page": 3,
    "invalidate_cache": 1,
}


def walk(seed: int, steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_entries", OrderedDict())
    walk = Walk(seed)
    for number in range(steps):
        touched = walk.take_step()
        # All threads are checked at every tenth step, to find side effects.
        walk.check([touched] if number % 10 else walk.models)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_table_matches_the_model_after_every_step(db, seed, monkeypatch):
    walk(seed, 120, monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10, 30))
def test_the_table_matches_the_model_after_every_step_of_a_long_walk(db, seed, monkeypatch):
    walk(seed, 500, monkeypatch)
