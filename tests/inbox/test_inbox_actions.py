"""Actions from the inbox list on one or many threads, and undoing them."""

import json
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from core.refusals import Refusal
from inbox.actions import INBOX_ACTIONS, muted_until, run_action
from tests.threads.checker import assert_consistent
from tests.threads.conftest import make_person, read_newest, row, say, start
from threads.actions.folders import mute_thread, pin_thread
from threads.dynamodb import keys

pytestmark = pytest.mark.indexes

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


@pytest.fixture
def client(buyer) -> Client:
    client = Client()
    client.force_login(buyer, backend=BACKEND)
    return client


def row_state(thread, user) -> tuple:
    item = row(thread, user)
    return item.folder, item.pinned, item.is_muted, item.muted_until, item.has_unread


def undo(user, outcome) -> None:
    for step in outcome.undo:
        fields = {name: value for name, value in step.items() if name not in ("act", "thread")}
        run_action(user, step["act"], step["thread"], **{k: v or None for k, v in fields.items()})


@pytest.mark.parametrize("act", sorted(INBOX_ACTIONS))
def test_each_action_can_be_undone_from_any_state(act, buyer, seller):
    """Undo restores only the threads that the action changed, each to its previous state."""
    threads = [start(seller, buyer) for _ in range(6)]
    plain, pinned, muted, read, archived, spam = threads
    later = keys.iso(datetime.now(UTC) + timedelta(hours=3))
    pin_thread(buyer, thread_id=pinned)
    mute_thread(buyer, thread_id=muted, until=later)
    read_newest(buyer, read)
    run_action(buyer, "archive", [archived])
    run_action(buyer, "spam", [spam])
    before = [row_state(thread, buyer) for thread in threads]
    outcome = run_action(buyer, act, threads)
    assert [row_state(thread, buyer) for thread in threads] != before
    undo(buyer, outcome)
    assert [row_state(thread, buyer) for thread in threads] == before
    assert_consistent(*threads)


@pytest.mark.parametrize("act", sorted(INBOX_ACTIONS))
def test_an_action_affects_only_its_user_and_strangers_find_no_thread(
    act, thread, buyer, seller, stranger
):
    before = row_state(thread, seller)
    run_action(buyer, act, [thread])
    assert row_state(thread, seller) == before
    with pytest.raises(Refusal) as refused:
        run_action(stranger, act, [thread])
    assert refused.value.code == "THREAD_NOT_FOUND"


def test_an_action_without_effect_offers_no_undo(thread, buyer):
    assert run_action(buyer, "pin", [thread]).undo
    assert run_action(buyer, "pin", [thread]).undo == []
    assert run_action(buyer, "restore", [thread]).undo == []


def test_a_missing_thread_does_not_stop_the_others(thread, buyer, stranger):
    theirs = start(stranger, make_person("Una"))
    outcome = run_action(buyer, "archive", [theirs, thread])
    assert outcome.message == "Archived"
    assert outcome.undo == [{"act": "restore", "thread": [thread]}]


def test_a_mute_expires(thread, buyer):
    with time_machine.travel(datetime(2026, 11, 16, 22, 30, tzinfo=UTC)) as clock:
        run_action(buyer, "mute", [thread], until=muted_until("hour"))
        assert row(thread, buyer).is_muted
        clock.shift(timedelta(minutes=61))
        assert not row(thread, buyer).is_muted
        run_action(buyer, "mute", [thread])
        clock.shift(timedelta(days=4000))
        assert row(thread, buyer).is_muted


def test_muting_until_tomorrow_ends_in_the_morning_of_the_users_zone():
    with (
        time_machine.travel(datetime(2026, 11, 16, 22, 30, tzinfo=UTC), tick=False),
        timezone.override("Asia/Tokyo"),
    ):
        # The date there is the 17th already.
        assert muted_until("tomorrow") == "2026-11-17T23:00:00.000Z"
        assert muted_until("hour") == "2026-11-16T23:30:00.000Z"
        assert muted_until("good") is None


def test_the_json_response_contains_the_undo(client, buyer, seller):
    threads = [start(seller, buyer) for _ in range(2)]
    response = client.post(
        "/inbox/act/", {"act": "mute hour", "thread": threads}, headers={"X-Fragment": "1"}
    )
    assert json.loads(response.content) == {
        "said": "Muted: 2 conversations",
        "undo": [{"act": "unmute", "thread": threads}],
    }
    assert all(row(thread, buyer).muted_until for thread in threads)


def test_without_javascript_the_user_returns_to_the_same_page(client, thread):
    response = client.post("/inbox/act/", {"act": "pin", "thread": thread, "back": "thread"})
    assert response["Location"] == f"/threads/{thread}/"
    response = client.post("/inbox/act/", {"act": "archive", "thread": thread, "back": "unread"})
    assert response["Location"] == "/inbox/unread/"
    page = client.get("/inbox/archived/").content.decode()
    assert "Archived." in page
    assert thread in page


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({}, 400),
        ({"act": "pin"}, 400),
        ({"act": "burn", "thread": "thrd_01JZZZZZZZZZZZZZZZZZZZZZZZ"}, 400),
        ({"act": "pin", "thread": "thrd_01JZZZZZZZZZZZZZZZZZZZZZZZ"}, 404),
        ({"act": "pin", "thread": "../../etc"}, 404),
        ({"act": "mute year", "thread": "thrd_01JZZZZZZZZZZZZZZZZZZZZZZZ"}, 400),
        ({"act": "mute", "until": "soon", "thread": "thrd_01JZZZZZZZZZZZZZZZZZZZZZZZ"}, 400),
        ({"act": "pin", "thread": [f"thrd_{n:026d}" for n in range(101)]}, 400),
    ],
)
def test_an_invalid_action_is_refused(client, fields, status):
    assert client.post("/inbox/act/", fields).status_code == status


def test_all_folders_and_filters_have_a_page(client, thread, buyer):
    for place in ("", "archived/", "spam/", "unread/", "action-required/", "projects/"):
        assert client.get(f"/inbox/{place}").status_code == 200
    assert client.get("/inbox/elsewhere/").status_code == 404
    assert client.get(f"/threads/{thread}/?in=unread").status_code == 200
    assert client.get(f"/threads/{thread}/?in=<script>").status_code == 200


def test_a_row_shows_who_has_to_answer(thread, buyer, seller):
    assert row(thread, seller).waiting_for == row(thread, buyer).waiting_for == seller.id
    say(seller, thread)
    assert row(thread, seller).waiting_for == row(thread, buyer).waiting_for == buyer.id
