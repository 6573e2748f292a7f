"""Commands that write demo data and load-test data."""

import json
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from io import StringIO
from uuid import uuid4

import pytest
import time_machine
from allauth.account.models import EmailAddress
from django.core.management import CommandError, call_command
from django.test import Client

from accounts.models import User
from contracts.models import Card
from core.outbox.models import OutboxEntry
from demo import content, history
from demo.management.commands import seed_demo
from inbox.queries import list_folder
from projects.actions.cards import transition_card
from projects.panel.rebuild import list_differences
from tests.threads.conftest import say
from threads.dynamodb import keys
from threads.dynamodb.store import Store, count_requests
from threads.dynamodb.table import Item, query
from threads.models import Message, Participant, Profile
from threads.queries import open_thread

pytestmark = pytest.mark.slow

HOSTS = (f"10.1.{part // 250}.{part % 250}" for part in range(60_000))
SHORT = 6


@pytest.fixture(autouse=True)
def installation(db, settings, tmp_path):
    """A separate installation with embedded stores for every test."""
    settings.SECRET_KEY = secrets.token_urlsafe(64)
    settings.DATA_DIR = tmp_path / "data"
    settings.EMBEDDED = True
    return settings


@pytest.fixture
def few_conversations(monkeypatch) -> None:
    """Some of the conversations, for tests that do not need all of them."""
    real = content.conversations
    monkeypatch.setattr(content, "conversations", lambda now: real(now)[:SHORT])


def run(command: str, *options: str) -> str:
    out = StringIO()
    call_command(command, *options, stdout=out)
    return out.getvalue()


def client_with(cookie: str, settings) -> Client:
    client = Client()
    client.cookies[settings.SESSION_COOKIE_NAME] = cookie
    return client


def can_sign_in(email: str, password: str) -> bool:
    client = Client(REMOTE_ADDR=next(HOSTS))
    client.post("/accounts/login/", {"login": email, "password": password})
    return client.get("/settings/").status_code == 200


def messages_of(thread: str) -> list[Message]:
    where = Item.sk.startswith(keys.MESSAGES)
    page = query(keys.thread_pk(thread), where, limit=1000)
    messages = page.of(Message)
    while page.next_key:
        page = query(keys.thread_pk(thread), where, limit=1000, after=page.next_key)
        messages += page.of(Message)
    return messages


def rows_of(user: User, folder: str = "inbox") -> list[Participant]:
    page = list_folder(user, folder)
    rows = page.rows
    while page.cursor:
        page = list_folder(user, folder, after=page.cursor)
        rows += page.rows
    return rows


def expected_texts(joined: datetime) -> dict[tuple[str, str, str], list[str]]:
    """Expected texts by buyer, seller and subject."""
    emails = {person.key: person.email for person in content.people()}
    return {
        (emails[story.buyer], emails[story.seller], story.subject): [
            message.text.strip() for message in story.messages
        ]
        for story in content.conversations(joined)
    }


def stored_texts() -> dict[tuple[str, str, str], list[str]]:
    people = {user.id: user for user in User.objects.all()}
    threads: dict[tuple[str, str, str], list[str]] = {}
    for user in people.values():
        for row in rows_of(user) + rows_of(user, "archived"):
            if row.role == "buyer":
                seller = people[row.other_side["id"]].email
                messages = messages_of(row.thread_id)
                assert [m.seq for m in messages] == list(range(1, len(messages) + 1))
                assert (user.email, seller, row.subject) not in threads
                threads[user.email, seller, row.subject] = [m.body for m in messages]
    return threads


def joined() -> datetime:
    return User.objects.earliest("date_joined").date_joined


# --- seed_demo


def test_every_demo_user_and_conversation_is_written():
    run("seed_demo")

    assert User.objects.count() == len(content.people()) + len(content.sellers())
    assert len(content.people()) >= 12
    assert stored_texts() == expected_texts(joined())
    assert len(stored_texts()) >= 24
    assert max(map(len, stored_texts().values())) >= 2000
    assert not OutboxEntry.objects.filter(done_at=None)
    for user in User.objects.all():
        profile = Profile.find(keys.user_pk(user.id), keys.PROFILE)
        assert (profile.handle, profile.city) == (user.handle, user.city)


def test_folders_pins_and_unread_match_the_content(few_conversations):
    run("seed_demo")

    people = {person.key: User.objects.get(email=person.email) for person in content.people()}
    for story in content.conversations(joined()):
        for key in (story.buyer, story.seller):
            folder = "archived" if key in story.archived_by else "inbox"
            (row,) = [r for r in rows_of(people[key], folder) if r.subject == story.subject]
            assert row.unread == story.unread_for.get(key, 0)
            assert row.pinned == (key in story.pinned_by)
            assert open_thread(people[key], row.thread_id).messages[-1].seq == len(story.messages)


def test_every_user_can_sign_in_with_the_stored_password(few_conversations, installation):
    printed = run("seed_demo")

    path = installation.DATA_DIR / "demo.json"
    assert path.stat().st_mode & 0o777 == 0o600
    kept = json.loads(path.read_text())
    assert [set(person) for person in kept] == [{"name", "email", "password", "role"}] * len(kept)
    assert len({person["password"] for person in kept}) == len(kept) == len(content.people())
    for person in kept:
        assert can_sign_in(person["email"], person["password"])
        assert f"{person['email']} " in printed
        assert person["password"] in printed
    confirmed = EmailAddress.objects.filter(verified=True, primary=True)
    assert confirmed.exclude(user__password__startswith="!").count() == len(kept)


def test_the_main_buyer_and_seller_are_listed_first(installation):
    mara, tomas, *others = seed_demo.list_sign_ins(content.conversations(datetime.now(UTC)))
    assert (mara["email"], mara["role"]) == ("mara@parley.example", "buyer")
    assert (tomas["email"], tomas["role"]) == ("tomas@parley.example", "seller")
    assert {person["role"] for person in others} == {"buyer", "seller"}


def test_another_installation_has_other_passwords(installation):
    before = {person["password"] for person in seed_demo.list_sign_ins([])}
    installation.SECRET_KEY = secrets.token_urlsafe(64)
    after = {person["password"] for person in seed_demo.list_sign_ins([])}
    assert not before & after


@pytest.mark.storage
def test_a_second_run_changes_nothing_and_reports_it(few_conversations, installation):
    first = run("seed_demo")
    assert "Added" in first
    mara = User.objects.get(email="mara@parley.example")
    mara.set_password("one of her own")
    mara.save()
    thread = rows_of(mara)[0].thread_id
    say(mara, thread, "Since then")
    path = installation.DATA_DIR / "demo.json"
    before = (list(User.objects.values()), path.stat().st_mtime_ns, stored_texts())

    with count_requests() as requests, time_machine.travel(datetime.now(UTC) + timedelta(days=3)):
        second = run("seed_demo")

    assert "Nothing was changed" in second
    assert second.splitlines()[1:] == first.splitlines()[1:]
    assert set(requests) == {"BatchGetItem"}
    assert (list(User.objects.values()), path.stat().st_mtime_ns, stored_texts()) == before
    assert messages_of(thread)[-1].body == "Since then"


class Killed(BaseException):
    """Simulates the death of the process."""


@contextmanager
def killed_at(operation: str, number: int) -> Iterator[None]:
    """Kills the process after the nth request of a kind, before its answer is processed."""
    real, left = Store._make_api_call, [number]

    def call(self: Store, name: str, kwargs: dict) -> dict:
        answer = real(self, name, kwargs)
        left[0] -= operation in (name, "any")
        if left[0] == 0:
            raise Killed
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "_make_api_call", call)
        yield


@pytest.mark.parametrize(
    ("operation", "number"),
    [
        # During the copy of the profiles.
        ("any", 3),
        ("BatchGetItem", 1),
        ("BatchWriteItem", 2),
        ("TransactWriteItems", 1),
        ("TransactWriteItems", 2),
    ],
)
def test_an_interrupted_run_is_completed_by_the_next(
    few_conversations, monkeypatch, installation, operation, number
):
    monkeypatch.setattr(history, "MAX_BATCH_SIZE", SHORT // 2)
    with killed_at(operation, number), pytest.raises(Killed):
        run("seed_demo")

    with time_machine.travel(datetime.now(UTC) + timedelta(days=2)):
        run("seed_demo")
        assert "Nothing was changed" in run("seed_demo")

    assert stored_texts() == expected_texts(joined())
    assert not OutboxEntry.objects.filter(done_at=None)
    for person in json.loads((installation.DATA_DIR / "demo.json").read_text())[:2]:
        assert can_sign_in(person["email"], person["password"])


@pytest.mark.storage
def test_users_are_created_in_one_transaction(few_conversations, monkeypatch):
    real, left = User.objects.create_user, iter([1, 2, 3])

    def create(*args: object, **fields: object) -> User:
        if next(left, None) is None:
            raise Killed
        return real(*args, **fields)

    monkeypatch.setattr(User.objects, "create_user", create)
    with pytest.raises(Killed):
        run("seed_demo")
    assert not User.objects.exists()
    assert not OutboxEntry.objects.exists()


# --- Refusals


@pytest.mark.parametrize("command", ["seed_demo", "seed_load --pairs 1 --messages 1"])
@pytest.mark.parametrize(
    ("embedded", "endpoint"),
    [
        (False, "http://127.0.0.1:8000"),
        (True, None),
        (True, "https://dynamodb.eu-central-1.amazonaws.com"),
        (True, "http://10.0.0.7:8000"),
        (True, "http://127.0.0.1.example.org:8000"),
    ],
)
def test_stores_that_are_not_embedded_are_refused(
    few_conversations, installation, command, embedded, endpoint
):
    installation.EMBEDDED = embedded
    # Only the endpoint that the command checks; the connection of this process is unchanged.
    installation.DYNAMODB = installation.DYNAMODB | {"endpoint": endpoint}
    with count_requests() as requests, pytest.raises(CommandError, match="--force"):
        run(*command.split())
    assert not requests
    assert not User.objects.exists()

    run(*command.split(), "--force")
    assert User.objects.exists()


@pytest.mark.parametrize("endpoint", ["http://localhost:1", "http://127.0.0.9:1", "http://[::1]:1"])
def test_an_engine_on_localhost_is_accepted(few_conversations, installation, endpoint):
    installation.DYNAMODB = installation.DYNAMODB | {"endpoint": endpoint}
    run("seed_load", "--pairs", "1", "--messages", "1")
    assert User.objects.count() == 2


def test_an_existing_user_with_a_demo_address_is_not_changed(few_conversations):
    User.objects.create_user("mara@parley.example", "her own", handle="m-l", display_name="M")
    with pytest.raises(CommandError, match="mara@parley.example"):
        run("seed_demo")
    assert User.objects.get().display_name == "M"


def test_an_existing_user_with_a_demo_handle_is_not_changed(few_conversations):
    handle = content.people()[3].handle
    User.objects.create_user("x@parley.example", "a password", handle=handle, display_name="X")
    with pytest.raises(CommandError, match="handle"):
        run("seed_demo")
    assert User.objects.get().display_name == "X"


# --- seed_load


@pytest.fixture
def load(capsys) -> Callable[..., list[dict]]:
    def seed(**options: int) -> list[dict]:
        named = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
        call_command("seed_load", "--json", *named)
        # The whole output is JSON, not only its last line.
        (pairs,) = json.loads(capsys.readouterr().out).values()
        return pairs

    return seed


def sides(pairs: list[dict]) -> Iterator[dict]:
    for pair in pairs:
        yield pair["buyer"]
        yield pair["seller"]


def test_only_pairs_are_printed(load):
    pairs = load(pairs=3, messages=2)

    assert [set(pair) for pair in pairs] == [{"thread", "buyer", "seller"}] * 3
    for side in sides(pairs):
        assert set(side) == {"id", "email", "password", "cookie"}
    assert len({side["id"] for side in sides(pairs)}) == User.objects.count() == 6
    assert len({side["cookie"] for side in sides(pairs)}) == 6


def test_the_cookie_signs_in_until_the_password_changes(load, installation):
    pairs = load(pairs=2, messages=1)

    for side in sides(pairs):
        page = client_with(side["cookie"], installation).get("/inbox/")
        assert page.status_code == 200
        assert page.wsgi_request.user.id == side["id"]
    buyer = pairs[0]["buyer"]
    person = User.objects.get(pk=buyer["id"])
    person.set_password("another one")
    person.save()
    page = client_with(buyer["cookie"], installation).get("/inbox/")
    assert page.status_code == 302


def test_the_password_signs_in(load):
    for side in sides(load(pairs=2, messages=1)):
        assert can_sign_in(side["email"], side["password"])
        assert not can_sign_in(side["email"], "a wrong one")


def test_users_are_as_complete_as_after_sign_up(load):
    load(pairs=2, messages=1)
    for person in User.objects.all():
        person.full_clean()
        address = EmailAddress.objects.get(user=person)
        assert (address.email, address.verified, address.primary) == (person.email, True, True)
        assert Profile.find(keys.user_pk(person.id), keys.PROFILE).handle == person.handle
    assert OutboxEntry.objects.exclude(done_at=None).count() == 4
    assert not OutboxEntry.objects.filter(done_at=None)


def test_pairs_can_exchange_messages(load, installation):
    (pair,) = load(pairs=1, messages=120)
    assert [m.seq for m in messages_of(pair["thread"])] == list(range(1, 121))
    buyer, seller = (
        client_with(pair[side]["cookie"], installation) for side in ("buyer", "seller")
    )

    url = f"/threads/{pair['thread']}/"
    assert buyer.get(url).status_code == 200
    fields = {"client_id": str(uuid4()), "body": "Still there?", "seen_seq": "120"}
    assert buyer.post(f"{url}messages/", fields).status_code == 302

    assert "Still there?" in seller.get(url).content.decode()
    (row,) = rows_of(User.objects.get(pk=pair["seller"]["id"]))
    assert (row.unread, row.last_message["text"]) == (1, "Still there?")


def test_inboxes_have_the_requested_number_of_rows(load):
    pairs = load(pairs=2, messages=3, threads_per_user=61)
    for pair in pairs:
        for side in ("buyer", "seller"):
            rows = rows_of(User.objects.get(pk=pair[side]["id"]))
            assert len(rows) == len({row.thread_id for row in rows}) == 61
            assert rows[0].thread_id == pair["thread"]
            assert not any(row.unread for row in rows)


@pytest.mark.storage
def test_every_run_adds_new_users(load):
    first, second = load(pairs=1, messages=1), load(pairs=1, messages=1)
    assert first[0]["thread"] != second[0]["thread"]
    assert User.objects.count() == 4


def test_output_without_json_is_text():
    printed = run("seed_load", "--pairs", "2", "--messages", "1")
    for person in User.objects.all():
        assert person.email in printed


@pytest.mark.parametrize("options", [(0, 1), (1, 0), (-1, 5)])
def test_less_than_one_is_refused(options):
    with pytest.raises(CommandError, match="must be at least 1"):
        run("seed_load", f"--pairs={options[0]}", f"--messages={options[1]}")
    assert not User.objects.exists()


# --- Bookings


def shown_cards() -> set[tuple[str, str, str]]:
    return {
        (card.type, card.proposed_by.email.partition("@")[0], card.state)
        for card in Card.objects.select_related("proposed_by")
    }


def test_demo_bookings_have_pending_cards_and_an_accepted_one():
    run("seed_demo")
    run("seed_bookings")
    assert shown_cards() == {
        ("extras", "kwame", "pending"),
        ("extras", "tomas", "accepted"),
        ("reschedule", "aoife", "pending"),
        ("proofs", "yui", "pending"),
        # A negotiation, and the offers that made the bookings.
        ("offer", "jonas", "countered"),
        ("offer", "mara", "countered"),
        ("offer", "jonas", "pending"),
        *(("offer", seller, "accepted") for seller in ("kwame", "tomas", "genevieve", "yui")),
    }
    proofs = Card.objects.get(type="proofs")
    assert [file["name"] for file in proofs.payload["files"]] == ["sketch-a.jpg", "sketch-b.jpg"]
    assert {card.thread_id for card in Card.objects.filter(is_open=True, waits_for=[])} == set()
    assert list(list_differences(proofs.thread_id)) == []


def test_demo_bookings_keep_the_answers_to_cards():
    run("seed_demo")
    run("seed_bookings")
    card = Card.objects.get(type="reschedule")
    seller = card.leg.seller
    transition_card(seller, card_id=card.id, transition="decline", version=card.version, key="no")
    before, count = shown_cards(), Card.objects.count()
    run("seed_bookings")
    assert (shown_cards(), Card.objects.count()) == (before, count)
