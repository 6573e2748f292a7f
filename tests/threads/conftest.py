"""Users, their threads, and the events published to them."""

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from uuid import uuid4

import pytest

from accounts.models import User
from realtime.broadcast import delivery
from tests.threads.faults import Faults
from tests.threads.other_processes import OtherProcess
from threads import cache
from threads.actions.cursors import mark_delivered, mark_read
from threads.actions.messages import send_message
from threads.actions.participants import INVITED, add_participant
from threads.actions.requests import accept_request
from threads.actions.start import start_thread
from threads.dynamodb import keys
from threads.dynamodb.table import Item, query
from threads.models import Message, Pair, Participant, Thread

numbers = count(1)
# Ten random digits could match a telephone number, which handles must not contain, and vowels the
# beginning of a name that a test searches for.
LETTERS = str.maketrans("0123456789abcdef", "bcdfghjklmnpqrst")


def make_person(name: str) -> User:
    tag = f"{name.lower()}-{uuid4().hex[:10].translate(LETTERS)}"
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
    """Starts a thread between users with an accepted connection, so it is not a request."""
    befriend(buyer, seller)
    return ask(buyer, seller, body, **fields)


def befriend(one: User, other: User) -> None:
    if one.id == other.id:
        return
    pair = Pair(keys.pair_pk(one.id, other.id), keys.STATE)
    pair.update([Pair.accepted.set(True)])


def add_friend(actor: User, *, thread_id: str, user: User) -> None:
    """Adds a connection of `actor`, who joins directly unless they have left before."""
    befriend(actor, user)
    if add_participant(actor, thread_id=thread_id, user=user) == INVITED:
        accept_request(user, thread_id=thread_id)


def ask(buyer: User, seller: User, body: str = "Are you free in May?", **fields: str) -> str:
    """Starts a thread like the page does: a first contact is a request."""
    return start_thread(
        buyer,
        seller=seller,
        client_id=fields.pop("client_id", str(uuid4())),
        subject=fields.pop("subject", "A wedding in May"),
        body=body,
        **fields,
    )


def say(
    sender: User,
    thread: str,
    body: str = "",
    *,
    seen_seq: int = 0,
    after_seq: int | None = None,
    reply_to: str | None = None,
    attachments: Sequence[str] = (),
    links: Sequence[dict[str, str]] = (),
) -> Message:
    return send_message(
        sender,
        thread_id=thread,
        client_id=str(uuid4()),
        body=body or f"Message number {next(numbers)}",
        seen_seq=seen_seq,
        after_seq=after_seq,
        reply_to=reply_to,
        attachments=attachments,
        links=links,
    )


def messages_of(thread: str) -> list[Message]:
    """All messages, in key order."""
    where = Item.sk.startswith(keys.MESSAGES)
    page = query(keys.thread_pk(thread), where, limit=1000)
    found = page.of(Message)
    while page.next_key:
        page = query(keys.thread_pk(thread), where, limit=1000, after=page.next_key)
        found += page.of(Message)
    return found


def thread_item(thread: str) -> Thread:
    return Thread.find(keys.thread_pk(thread), keys.THREAD)


def row(thread: str, user: User) -> Participant:
    return Participant.find(keys.thread_pk(thread), keys.participant_sk(user.id))


def read_up_to(user: User, message: Message) -> None:
    mark_read(
        user,
        thread_id=message.thread_id,
        message_id=message.id,
        seq=message.seq,
        tally=message.tally,
    )


def deliver_up_to(user: User, message: Message) -> None:
    mark_delivered(
        user,
        thread_id=message.thread_id,
        message_id=message.id,
        seq=message.seq,
        tally=message.tally,
    )


def read_newest(user: User, thread: str) -> None:
    read_up_to(user, messages_of(thread)[-1])


def deliver_newest(user: User, thread: str) -> None:
    deliver_up_to(user, messages_of(thread)[-1])


@pytest.fixture
def cold() -> Callable[[str], None]:
    """Removes a thread from the cache."""
    return cache.invalidate


class Delivered(list[tuple[str, dict]]):
    """(user id, event) in the order of publishing."""

    def to(self, user: User, kind: str | None = None) -> list[dict]:
        return [e for u, e in self if u == user.id and kind in (None, e["type"])]


@pytest.fixture
def delivered(monkeypatch: pytest.MonkeyPatch) -> Delivered:
    events = Delivered()

    def record(groups: list[str], message: dict) -> None:
        events.extend((group.removeprefix("user."), message["event"]) for group in groups)

    monkeypatch.setattr(delivery, "send_to_groups", record)
    # As if every user had a page open.
    monkeypatch.setattr(delivery, "can_reach", lambda group: True)
    return events


@pytest.fixture(scope="session")
def _other_processes() -> Iterator[tuple[OtherProcess, OtherProcess]]:
    both = OtherProcess(), OtherProcess()
    yield both
    for process in both:
        process.close()


@pytest.fixture
def other_process(_other_processes: tuple[OtherProcess, OtherProcess]) -> OtherProcess:
    """Another process of the service."""
    return _other_processes[0]


@pytest.fixture
def third_process(_other_processes: tuple[OtherProcess, OtherProcess]) -> OtherProcess:
    """A third process of the service."""
    return _other_processes[1]


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Faults:
    """Injects faults between the service and the engine."""
    return Faults(monkeypatch)
