"""Unread, action required and the counts: two requests each at any size, and only what is so."""

import pytest

from inbox.queries import (
    ACTION_REQUIRED,
    UNREAD,
    count_rows,
    list_action_required,
    list_unread,
)
from tests.inbox.test_list_folder import fill, ids
from tests.threads.conftest import make_person, read_newest, row, say, start
from threads.actions.cursors import mark_all_read
from threads.actions.folders import (
    archive_thread,
    mark_spam,
    mark_unread,
    pin_thread,
    restore_thread,
)
from threads.models import ActionWaiting, keys
from threads.models.store import counting
from threads.models.table import put_many


def fill_unread(user, size: int) -> list[str]:
    expected = fill(user, make_person("Una"), size)
    rows = [row(thread, user) for thread in expected]
    for each in rows:
        each.unread_pk, each.unread_sk = keys.unread_pk(user.id), each.thread_id
        each.last_tally, each.last_read_tally, each.own_since_read = 3, 1, 0
    put_many(rows)
    return expected


def wait_for(user, thread: str, *messages: str) -> None:
    put_many(
        ActionWaiting(
            keys.user_pk(user.id),
            keys.waiting_sk(thread, message),
            type="extras",
            created_at=keys.now(),
        )
        for message in messages
    )


def test_unread_shows_what_is_and_what_was_marked_so_pinned_first(buyer, seller):
    read, unread, marked, pinned = (start(seller, buyer) for _ in range(4))
    for thread in (read, marked):
        read_newest(buyer, thread)
    mark_unread(buyer, thread_id=marked)
    pin_thread(buyer, thread_id=unread)
    assert ids(list_unread(buyer)) == [unread, pinned, marked]
    assert count_rows(buyer)[UNREAD] == 3
    say(seller, read)
    assert ids(list_unread(buyer)) == [unread, read, pinned, marked]


def test_unread_is_inside_the_inbox(buyer, seller):
    kept, archived, spam = (start(seller, buyer) for _ in range(3))
    archive_thread(buyer, thread_id=archived)
    mark_spam(buyer, thread_id=spam)
    assert ids(list_unread(buyer)) == [kept]
    assert count_rows(buyer)[UNREAD] == 1
    say(seller, spam)
    assert ids(list_unread(buyer)) == [kept]
    say(seller, archived)
    assert ids(list_unread(buyer)) == [archived, kept]
    restore_thread(buyer, thread_id=spam)
    assert set(ids(list_unread(buyer))) == {kept, archived, spam}


def test_reading_takes_the_mark_away_and_so_does_writing(buyer, seller):
    one, other = start(seller, buyer), start(seller, buyer)
    for thread in (one, other):
        read_newest(buyer, thread)
        mark_unread(buyer, thread_id=thread)
    assert set(ids(list_unread(buyer))) == {one, other}
    mark_all_read(buyer, thread_id=one)
    say(buyer, other)
    assert ids(list_unread(buyer)) == []
    assert not row(one, buyer).marked_unread
    assert not row(other, buyer).marked_unread


def test_a_row_of_the_index_that_lags_is_left_out(buyer, seller):
    thread = start(seller, buyer)
    item = row(thread, buyer)
    item.last_read_tally = item.last_tally
    put_many([item])
    assert ids(list_unread(buyer)) == []


@pytest.mark.parametrize(
    ("size", "shown", "counted"), [(99, 99, 99), (100, 100, 100), (130, 100, 100)]
)
def test_a_filter_shows_a_hundred_and_says_if_there_are_more(buyer, size, shown, counted):
    expected = fill_unread(buyer, size)
    page = list_unread(buyer)
    assert len(page.rows) == shown
    assert set(ids(page)) <= set(expected)
    assert page.is_cut == (size > 100)
    assert count_rows(buyer)[UNREAD] == counted


@pytest.mark.parametrize("size", [3, 130])
def test_a_filter_costs_two_requests_at_any_size(buyer, size):
    (thread, *_) = fill_unread(buyer, size)
    wait_for(buyer, thread, "msg_01JZZZZZZZZZZZZZZZZZZZZZZZ")
    for list_them in (list_unread, list_action_required):
        with counting() as requests:
            assert list_them(buyer).rows
        assert requests == ["Query", "BatchGetItem"]
    with counting() as requests:
        count_rows(buyer)
    assert requests == ["Query"] * 3


def test_action_required_is_where_a_card_waits_once_each(buyer, seller, stranger):
    one, two, none = (start(buyer, seller) for _ in range(3))
    wait_for(buyer, one, "msg_01JZZZZZZZZZZZZZZZZZZZZZZZ", "msg_01JZZZZZZZZZZZZZZZZZZZZZZY")
    wait_for(buyer, two, "msg_01JZZZZZZZZZZZZZZZZZZZZZZX")
    # Nothing that somebody is not in, whatever an item says.
    wait_for(stranger, one, "msg_01JZZZZZZZZZZZZZZZZZZZZZZX")
    assert ids(list_action_required(buyer)) == [two, one]
    assert count_rows(buyer)[ACTION_REQUIRED] == 2
    assert ids(list_action_required(stranger)) == []
    archive_thread(buyer, thread_id=two)
    assert ids(list_action_required(buyer)) == [one]
