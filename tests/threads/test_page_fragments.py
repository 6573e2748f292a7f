"""A page made of cached fragments has the same bytes as one that is rendered anew."""

import random
import re
from collections.abc import Callable
from contextlib import contextmanager
from datetime import UTC

import pytest
from django.test import Client

from accounts.actions import set_safe_mode
from accounts.models import User
from core import fragments
from core.fragments import FragmentCache, render_fragment
from core.outbox import processing
from core.refusals import Refusal
from tests.contracts.card_helpers import answer, propose
from tests.contracts.conftest import book
from tests.indexes import settle
from tests.threads.conftest import add_friend, make_person, messages_of, read_newest, say, start
from tests.threads.test_relay import rename
from threads.actions.blocks import block_person, unblock_person
from threads.actions.folders import archive_thread, pin_thread, restore_thread, unpin_thread
from threads.actions.participants import remove_participant
from threads.actions.revisions import edit_message, remove_message, set_reaction
from threads.actions.safe_mode import lift_safe_mode, require_safe_mode
from threads.actions.staff import hide_message, redact_message, unhide_message
from threads.models import Message
from threads.models.message import REACTIONS
from threads.rendering import timeline

# Tokens, ids, and the current time of other users, which may change between two requests.
PER_RESPONSE = re.compile(
    rb'(name="csrfmiddlewaretoken" value|name="client_id" value|data-csrf)="[^"]*"'
    rb"|<time>\d\d:\d\d</time>"
)
BODIES = ("Plain words", "*Bold* & <b>not</b>", "https://parley.example/a\nSecond line", "100 %")
ZONES = ("UTC", "Asia/Tokyo", "America/New_York")


@contextmanager
def without_fragments(monkeypatch: pytest.MonkeyPatch):
    """Every message and row is rendered by its template."""
    with monkeypatch.context() as patch:
        patch.setattr(FragmentCache, "get", lambda self, key: None)
        patch.setattr(timeline, "is_plain", lambda message: False)
        yield


def get_page(user: User, path: str) -> bytes:
    client = Client()
    client.force_login(user)
    response = client.get(path)
    return PER_RESPONSE.sub(rb"\1", response.content)


class Story:
    """Random changes of two threads: one of two users, one of three with a booking."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.buyer, self.seller, self.guest = (make_person(name) for name in ("Bea", "Sam", "Gus"))
        self.users = [self.buyer, self.seller, self.guest]
        self.pair = start(self.buyer, self.seller)
        self.group = start(self.buyer, self.seller)
        self.leg = book(self.group, self.buyer, self.seller)
        self.card = propose("reschedule", self.leg, self.seller)
        add_friend(self.buyer, thread_id=self.group, user=self.guest)
        self.threads = [self.pair, self.group]

    @property
    def steps(self) -> list[Callable[[], object]]:
        names = [name for name in dir(type(self)) if name.startswith("do_")]
        return [getattr(self, name) for name in names]

    def step(self) -> str:
        step = self.random.choice(self.steps)
        try:
            step()
        except Refusal as refusal:
            return f"{step.__name__}: {refusal.code}"
        return step.__name__

    @property
    def place(self) -> tuple[str, User]:
        thread = self.random.choice(self.threads)
        return thread, self.random.choice(self.users[: 2 if thread == self.pair else 3])

    @property
    def message(self) -> tuple[User, dict[str, str]]:
        thread, _ = self.place
        message: Message = self.random.choice(messages_of(thread))
        author = next((one for one in self.users if one.id == message.author_id), self.buyer)
        return author, {"thread_id": thread, "message_id": message.id}

    def do_send(self) -> None:
        thread, user = self.place
        say(user, thread, self.random.choice(BODIES))

    do_send_again = do_send

    def do_reply(self) -> None:
        thread, user = self.place
        say(user, thread, "A reply", reply_to=self.random.choice(messages_of(thread)).id)

    def do_link(self) -> None:
        thread, user = self.place
        say(user, thread, "Watch", links=[{"url": "https://video.example/1", "title": "Clip"}])

    def do_edit(self) -> None:
        author, message = self.message
        edit_message(author, **message, body=self.random.choice(BODIES) + " again")

    def do_react(self) -> None:
        _, message = self.message
        user, on = self.random.choice(self.users), self.random.random() < 0.7
        set_reaction(user, **message, reaction=self.random.choice(REACTIONS), on=on)

    do_react_again = do_react

    def do_remove(self) -> None:
        author, message = self.message
        remove_message(author, **message)

    def do_hide(self) -> None:
        _, message = self.message
        self.random.choice([hide_message, unhide_message])(**message)

    def do_redact(self) -> None:
        _, message = self.message
        redact_message(**message, text="words")

    def do_block(self) -> None:
        change = self.random.choice([block_person, unblock_person])
        change(self.buyer, blocked=self.seller)
        processing.process_due()

    def do_rename(self) -> None:
        user = self.random.choice(self.users)
        name = f"<{user.handle[:3]}> {self.random.randrange(100)}"
        rename(user, name, time_zone=self.random.choice(ZONES))
        processing.process_due()

    def do_safe_mode(self) -> None:
        set_safe_mode(self.random.choice(self.users), on=self.random.random() < 0.5)
        change = self.random.choice([require_safe_mode, lift_safe_mode])
        change(self.buyer, thread_id=self.group)

    def do_read(self) -> None:
        thread, user = self.place
        read_newest(user, thread)

    def do_move(self) -> None:
        thread, user = self.place
        actions = [archive_thread, restore_thread, pin_thread, unpin_thread]
        self.random.choice(actions)(user, thread_id=thread)

    def do_answer_card(self) -> None:
        answer(self.random.choice([self.buyer, self.seller]), self.card, "decline")

    def do_change_roster(self) -> None:
        if self.random.random() < 0.5:
            remove_participant(self.buyer, thread_id=self.group, user_id=self.guest.id)
        else:
            add_friend(self.buyer, thread_id=self.group, user=self.guest)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("seed", range(3))
def test_pages_of_cached_fragments_equal_pages_rendered_anew(seed, monkeypatch):
    story, taken = Story(seed), []
    for _ in range(20):
        taken.append(story.step())
        settle()
        for user in map(refreshed, story.users):
            for path in ("/inbox/", *(f"/threads/{thread}/" for thread in story.threads)):
                shown = get_page(user, path)
                with without_fragments(monkeypatch):
                    assert shown == get_page(user, path), (user.display_name, path, taken)


def refreshed(user: User) -> User:
    user.refresh_from_db()
    return user


def test_the_cache_is_limited_by_number_and_by_bytes():
    cache = FragmentCache(max_entries=3, max_bytes=10_000)
    for number in range(5):
        cache.put(f"{number}", "x" * 100)
    assert [cache.get(f"{number}") is not None for number in range(5)] == [
        False,
        False,
        *[True] * 3,
    ]
    cache.get("2")
    cache.put("5", "y" * 9_000)
    assert cache.get("2") is not None
    cache.put("6", "z" * 20_000)
    assert (len(cache), cache.total_bytes) == (0, 0)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"day": "<b>"}, {"day": fragments.mark_safe("<b>")}),
        ({"day": "1"}, {"day": 1}),
        ({"day": True}, {"day": 1}),
        ({"day": ["a", "b"]}, {"day": ["a, b"]}),
        ({"day": ""}, {}),
    ],
)
def test_similar_contexts_are_different_fragments(one, other):
    assert fragments._key("threads/day.html", one) != fragments._key("threads/day.html", other)


def test_a_fragment_sees_nothing_but_its_context():
    with pytest.raises(TypeError):
        render_fragment("threads/day.html")
    assert render_fragment("threads/day.html", {}) == render_fragment(
        "threads/day.html", {"x": UTC}
    )
