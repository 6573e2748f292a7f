"""Listing a folder: pinned first, then newest, in pages, and only the user's own rows."""

import random
import re
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.test import Client
from ulid import ULID

from core.refusals import Refusal
from inbox.queries import get_row, list_folder
from tests.indexes import settle
from tests.threads.conftest import make_person, row, say, start
from threads.actions.folders import archive_thread, pin_thread
from threads.dynamodb import keys
from threads.dynamodb.table import put_many

pytestmark = pytest.mark.indexes


def ids(page) -> list[str]:
    return [each.thread_id for each in page.rows]


def fill(user, seller, size: int, pinned: int = 0) -> list[str]:
    """Stores rows a second apart, newest first as they are listed; some of them pinned."""
    model = row(start(user, seller), user)
    model.delete()
    began = datetime(2026, 5, 4, 9, 30, tzinfo=UTC)
    rows = []
    for number in range(size):
        each, thread = model.copy(), f"thrd_{ULID()}"
        each.pk = keys.thread_pk(thread)
        each.pinned = number < pinned
        each.last_message_at = keys.iso(began + timedelta(seconds=number))
        each.inbox_sk = keys.inbox_sk(each.last_message_at, thread, pinned=each.pinned)
        rows.append(each)
    put_many(rows)
    rows.sort(key=lambda each: each.inbox_sk, reverse=True)
    return [each.thread_id for each in rows]


def test_the_newest_activity_is_listed_first(buyer, seller):
    one, two, three = (start(buyer, seller) for _ in range(3))
    assert ids(list_folder(buyer, "inbox")) == [three, two, one]
    say(seller, one)
    assert ids(list_folder(buyer, "inbox")) == [one, three, two]
    assert ids(list_folder(seller, "inbox")) == [one, three, two]


def test_a_row_is_complete(buyer, seller):
    thread = start(buyer, seller, "Hello *Sam*", subject="Portraits")
    (mine,) = list_folder(seller, "inbox").rows
    assert (mine.thread_id, mine.subject, mine.kind) == (thread, "Portraits", "inquiry")
    assert mine.other_side["name"] == "Bea"
    assert mine.last_message == {"author": buyer.id, "type": "text", "text": "Hello Sam"}
    assert (mine.unread, mine.pinned, mine.muted, mine.folder) == (1, False, False, "inbox")
    assert mine.others_count == 1
    full = row(thread, seller)
    for name in ("last_seq", "last_tally", "last_message_at", "role", "marked_unread"):
        assert getattr(mine, name) == getattr(full, name)


@pytest.mark.parametrize("size", [1, 49, 50, 51, 100, 123])
def test_pages_have_no_gaps_or_duplicates_and_end(buyer, seller, size):
    expected = fill(buyer, seller, size, pinned=min(size, 3))
    page, seen = list_folder(buyer, "inbox"), []
    for _ in range(10):
        seen += ids(page)
        if not page.cursor:
            break
        page = list_folder(buyer, "inbox", after=page.cursor)
    assert seen == expected


def test_pinned_rows_continue_on_the_next_page(buyer, seller):
    expected = fill(buyer, seller, 70, pinned=60)
    first = list_folder(buyer, "inbox")
    second = list_folder(buyer, "inbox", after=first.cursor)
    assert ids(first) + ids(second) == expected
    assert [each.pinned for each in second.rows] == [True] * 10 + [False] * 10


@pytest.mark.parametrize("seed", range(6))
def test_rows_whose_key_lags_are_listed_by_their_position(buyer, seller, seed):
    """Own messages do not move the row within a minute: pages are as if they did."""
    rng, model, rows = random.Random(seed), row(start(buyer, seller), buyer), []
    model.delete()
    # From one row a second to one in two minutes.
    seconds = rng.choice([40, 400, 4_000, 10_000])
    for _ in range(80):
        each, thread = model.copy(), f"thrd_{ULID()}"
        each.pk, each.pinned = keys.thread_pk(thread), rng.random() < 0.2
        indexed = datetime(2026, 5, 4, tzinfo=UTC) + timedelta(seconds=rng.randrange(seconds))
        lag = timedelta(seconds=rng.choice([0, 1, 30, 60]))
        each.last_message_at = keys.iso(indexed + lag)
        each.inbox_sk = keys.inbox_sk(keys.iso(indexed), thread, pinned=each.pinned)
        rows.append(each)
    put_many(rows)
    settle()
    rows.sort(key=lambda each: each.position, reverse=True)
    page = list_folder(buyer, "inbox", size=15)
    seen = ids(page)
    while page.cursor:
        page = list_folder(buyer, "inbox", after=page.cursor, size=15)
        seen += ids(page)
    assert seen == [each.thread_id for each in rows]


def test_an_own_message_moves_the_row_in_the_index_once_a_minute(buyer, seller):
    """It is listed by its position at once."""
    with time_machine.travel(datetime(2026, 5, 4, 9, tzinfo=UTC)) as clock:
        older, newer = start(buyer, seller), start(buyer, seller)
        indexed = row(older, buyer).inbox_sk
        clock.shift(50)
        sent = say(buyer, older, seen_seq=1)
        assert ids(list_folder(buyer, "inbox")) == [older, newer]
        assert row(older, buyer).inbox_sk == indexed
        assert row(older, buyer).position > indexed
        # The other side's row moves.
        assert row(older, seller).inbox_sk == keys.inbox_sk(sent.created_at, older, pinned=False)
        clock.shift(20)
        say(buyer, older, seen_seq=2)
        assert row(older, buyer).inbox_sk == row(older, buyer).position


def test_a_new_thread_while_paging_repeats_no_row(buyer, seller):
    fill(buyer, seller, 60)
    first = list_folder(buyer, "inbox")
    new = start(seller, buyer)
    second = list_folder(buyer, "inbox", after=first.cursor)
    assert not set(ids(first)) & set(ids(second))
    assert len(ids(first) + ids(second)) == 60
    assert ids(list_folder(buyer, "inbox"))[0] == new


def test_a_folder_lists_only_its_own_threads(buyer, seller):
    kept, archived = start(buyer, seller), start(buyer, seller)
    archive_thread(buyer, thread_id=archived)
    assert ids(list_folder(buyer, "inbox")) == [kept]
    assert ids(list_folder(buyer, "archived")) == [archived]
    assert ids(list_folder(buyer, "requests")) == ids(list_folder(buyer, "spam")) == []


def test_an_empty_folder_is_empty(stranger):
    page = list_folder(stranger, "inbox")
    assert (page.rows, page.cursor) == ([], "")


@pytest.mark.parametrize(
    "cursor",
    [
        "x",
        "PIN#",
        "2026-05-04T09:30:00.125Z",
        "2026-05-04T09:30:00.125Z#thrd_x",
        "2026-05-04T09:30:00.125Z#thrd_01M7HB2E6JQE35JFC7AKW4TY66 ",
        "2026-05-04T09:30:00.125Z#thrd_01M7HB2E6JQE35JFC7AKW4TY66\n",
        "PIN#PIN#2026-05-04T09:30:00.125Z#thrd_01M7HB2E6JQE35JFC7AKW4TY66",
        "٢٠٢٦-05-04T09:30:00.125Z#thrd_01M7HB2E6JQE35JFC7AKW4TY66",
        "x" * 5000,
    ],
)
def test_an_invalid_cursor_is_refused(buyer, cursor):
    with pytest.raises(Refusal) as refused:
        list_folder(buyer, "inbox", after=cursor)
    assert refused.value.code == "BAD_FRAME"


def test_a_cursor_of_another_user_lists_only_ones_own_rows(buyer, seller):
    theirs = fill(seller, make_person("Una"), 60)
    start(buyer, make_person("Oto"))
    cursor = list_folder(seller, "inbox").cursor
    assert cursor
    assert not set(ids(list_folder(buyer, "inbox", after=cursor))) & set(theirs)


def test_a_user_reads_only_their_own_row(thread, buyer, stranger):
    assert get_row(buyer, thread).user_id == buyer.id
    for user, asked in ((stranger, thread), (buyer, "thrd_01JZZZZZZZZZZZZZZZZZZZZZZZ")):
        with pytest.raises(Refusal) as refused:
            get_row(user, asked)
        assert refused.value.code == "THREAD_NOT_FOUND"


def test_two_threads_of_the_same_millisecond_both_have_a_row(buyer, seller):
    with time_machine.travel(datetime.now(UTC), tick=False):
        threads = {start(buyer, seller) for _ in range(3)}
    assert set(ids(list_folder(buyer, "inbox"))) == threads


def test_pins_of_different_users_are_independent(thread, buyer, seller):
    newer = start(buyer, seller)
    pin_thread(buyer, thread_id=thread)
    assert ids(list_folder(buyer, "inbox")) == [thread, newer]
    assert ids(list_folder(seller, "inbox")) == [newer, thread]


def test_a_page_has_one_screen_of_rows_and_loads_the_rest_on_request(buyer, seller):
    expected = fill(buyer, seller, 70)
    client = Client()
    client.force_login(buyer, backend="allauth.account.auth_backends.AuthenticationBackend")

    def shown(address: str) -> list[str]:
        page = client.get(address, headers={"X-Fragment": "1"}).content.decode()
        return re.findall(r'<li class="row" data-thread="(\w+)"', page)

    assert shown("/inbox/") == expected[:15]
    assert shown("/inbox/rows/?folder=inbox") == expected[:50]
    more = re.search(r'href="([^"]+after=[^"]+)"', client.get("/inbox/").content.decode())[1]
    assert shown(more.replace("&amp;", "&")) == expected[15:65]
    # A refresh requests as many rows as the page shows.
    for asked, answered in (("20", 20), ("3", 15), ("999", 50), ("9" * 5000, 50), ("x", 50)):
        assert shown(f"/inbox/rows/?folder=inbox&shown={asked}") == expected[:answered]
