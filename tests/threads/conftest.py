"""People, their conversation, and what was told to whom."""

from collections.abc import Callable
from itertools import count
from uuid import uuid4

import pytest

from accounts.models import User
from realtime import delivery
from threads import state
from threads.actions.messages import send_message
from threads.actions.start import start_thread
from threads.models import Message

numbers = count(1)


def make_person(name: str) -> User:
    tag = f"{name.lower()}-{uuid4().hex[:10]}"
    return User.objects.create_user(
        f"{tag}@parley.example", "a long password", handle=tag, display_name=name
    )


@pytest.fixture
def person(db: None) -> Callable[[str], User]:
    return make_person


@pytest.fixture
def buyer(db: None) -> User:
    return make_person("Bea")


@pytest.fixture
def seller(db: None) -> User:
    return make_person("Sam")


@pytest.fixture
def stranger(db: None) -> User:
    return make_person("Stig")


@pytest.fixture
def thread(buyer: User, seller: User) -> str:
    return start(buyer, seller)


def start(buyer: User, seller: User, body: str = "Are you free in May?", **fields: str) -> str:
    return start_thread(
        buyer,
        seller=seller,
        client_id=fields.pop("client_id", str(uuid4())),
        subject=fields.pop("subject", "A wedding in May"),
        body=body,
        **fields,
    )


def say(sender: User, thread: str, body: str = "", *, seen_seq: int = 0) -> Message:
    return send_message(
        sender,
        thread_id=thread,
        client_id=str(uuid4()),
        body=body or f"Message number {next(numbers)}",
        seen_seq=seen_seq,
    )


@pytest.fixture
def cold() -> Callable[[str], None]:
    """As in a process that has not heard of a thread."""
    return state.forget


class Delivered(list[tuple[str, dict]]):
    """(user id, event) in the order in which they were told."""

    def to(self, user: User, kind: str | None = None) -> list[dict]:
        return [e for u, e in self if u == user.id and kind in (None, e["type"])]


@pytest.fixture
def delivered(monkeypatch: pytest.MonkeyPatch) -> Delivered:
    told = Delivered()

    def record(group: str, message: dict) -> None:
        told.append((group.removeprefix("user."), message["event"]))

    monkeypatch.setattr(delivery, "_send", record)
    return told
