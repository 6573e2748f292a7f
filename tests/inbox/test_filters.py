"""The filters for unread, waiting for you and projects, and their counts: cost and content."""

import pytest

from inbox.queries import (
    UNREAD,
    WAITING,
    count_rows,
    list_projects,
    list_unread,
    list_waiting,
)
from inbox.search import indexer
from projects.actions.bookings import link_bookings
from tests.contracts.conftest import book
from tests.inbox.test_list_folder import fill, ids
from tests.indexes import settle
from tests.threads.conftest import add_friend, make_person, read_newest, row, say, start
from threads.actions.cursors import mark_all_read
from threads.actions.folders import (
    archive_thread,
    mark_spam,
    mark_unread,
    pin_thread,
    restore_thread,
)
from threads.actions.participants import leave_thread
from threads.dynamodb import keys
from threads.dynamodb.store import count_requests
from threads.dynamodb.table import put_many
from threads.models import PendingAction

pytestmark = pytest.mark.indexes


def fill_unread(user, size: int) -> list[str]:
    expected = fill(user, make_person("Una"), size)
    rows = [row(thread, user) for thread in expected]
    for each in rows:
        each.unread_pk, each.unread_sk = keys.unread_pk(user.id), keys.thread_sk(each.thread_id)
        each.last_tally, each.last_read_tally, each.own_since_read = 3, 1, 0
    put_many(rows)
    settle()
    return expected


def add_pending_action(user, thread: str, *messages: str) -> None:
    put_many(
        PendingAction(
            keys.user_pk(user.id),
            keys.pending_action_sk(thread, message),
            type="extras",
            created_at=keys.now(),
        )
        for message in messages
    )


def test_unread_lists_unread_and_marked_threads_pinned_first(buyer, seller):
    read, unread, marked, pinned = (start(seller, buyer) for _ in range(4))
    for thread in (read, marked):
        read_newest(buyer, thread)
    mark_unread(buyer, thread_id=marked)
    pin_thread(buyer, thread_id=unread)
    assert ids(list_unread(buyer)) == [unread, pinned, marked]
    assert count_rows(buyer)[UNREAD] == 3
    say(seller, read)
    assert ids(list_unread(buyer)) == [unread, read, pinned, marked]


def test_unread_lists_only_threads_of_the_inbox(buyer, seller):
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


def test_reading_or_writing_removes_the_unread_mark(buyer, seller):
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


def test_a_stale_index_row_is_omitted(buyer, seller):
    thread = start(seller, buyer)
    item = row(thread, buyer)
    item.last_read_tally = item.last_tally
    put_many([item])
    assert ids(list_unread(buyer)) == []


@pytest.mark.parametrize(
    ("size", "shown", "counted"), [(99, 99, 99), (100, 100, 100), (130, 100, 100)]
)
def test_a_filter_lists_a_hundred_rows_and_whether_there_are_more(buyer, size, shown, counted):
    expected = fill_unread(buyer, size)
    page = list_unread(buyer)
    assert len(page.rows) == shown
    assert set(ids(page)) <= set(expected)
    assert page.is_truncated == (size > 100)
    assert count_rows(buyer)[UNREAD] == counted


@pytest.mark.parametrize("size", [3, 130])
def test_a_filter_costs_two_requests_at_any_size(buyer, size):
    (thread, *_) = fill_unread(buyer, size)
    add_pending_action(buyer, thread, "msg_01JZZZZZZZZZZZZZZZZZZZZZZZ")
    for list_them in (list_unread, list_waiting):
        with count_requests() as requests:
            assert list_them(buyer).rows
        assert requests == ["Query", "BatchGetItem"]
    with count_requests() as requests:
        count_rows(buyer)
    assert requests == ["Query"] * 3


def test_waiting_for_you_lists_each_thread_with_pending_actions_once(buyer, seller, stranger):
    one, two, none = (start(buyer, seller) for _ in range(3))
    add_pending_action(
        buyer, one, "msg_01JZZZZZZZZZZZZZZZZZZZZZZZ", "msg_01JZZZZZZZZZZZZZZZZZZZZZZY"
    )
    add_pending_action(buyer, two, "msg_01JZZZZZZZZZZZZZZZZZZZZZZX")
    # A pending action in a thread of other users is not listed.
    add_pending_action(stranger, one, "msg_01JZZZZZZZZZZZZZZZZZZZZZZX")
    assert ids(list_waiting(buyer)) == [two, one]
    assert count_rows(buyer)[WAITING] == 2
    assert ids(list_waiting(stranger)) == []
    archive_thread(buyer, thread_id=two)
    assert ids(list_waiting(buyer)) == [one]


def test_projects_lists_booked_threads_of_the_inbox_pinned_first(buyer, seller, stranger):
    one, two, archived, inquiry = (start(buyer, seller) for _ in range(4))
    assert ids(list_projects(buyer)) == []
    for thread in (one, two, archived):
        book(thread, buyer, seller)
    pin_thread(buyer, thread_id=one)
    archive_thread(buyer, thread_id=archived)
    assert ids(list_projects(buyer)) == [one, two]
    assert ids(list_projects(seller)) == [archived, two, one]
    assert inquiry not in ids(list_projects(seller))
    assert ids(list_projects(stranger)) == []


def test_a_group_is_a_project_of_every_participant(buyer, seller):
    other = make_person("Mia")
    legs = [book(start(buyer, each), buyer, each) for each in (seller, other)]
    group = link_bookings(buyer, title="A day", leg_ids=[leg.id for leg in legs])
    assert set(ids(list_projects(buyer))) == {group.thread_id, *(leg.thread_id for leg in legs)}
    assert set(ids(list_projects(other))) == {group.thread_id, legs[1].thread_id}


def test_a_guest_has_the_project_until_they_leave(thread, buyer, seller, stranger):
    book(thread, buyer, seller)
    add_friend(buyer, thread_id=thread, user=stranger)
    indexer.index_queued()
    assert ids(list_projects(stranger)) == [thread]
    leave_thread(stranger, thread_id=thread)
    assert ids(list_projects(stranger)) == []


@pytest.mark.parametrize("size", [1, 5])
def test_projects_cost_one_request_and_two_queries(buyer, seller, size, django_assert_num_queries):
    for _ in range(size):
        book(start(buyer, seller), buyer, seller)
    fill(buyer, make_person("Una"), 130)
    settle()
    with count_requests() as requests, django_assert_num_queries(2):
        assert len(list_projects(buyer).rows) == size
    assert requests == ["BatchGetItem"]
