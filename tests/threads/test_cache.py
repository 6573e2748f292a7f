"""The cache of threads: never replaced by older data, and marked stale when in doubt."""

from collections.abc import Callable

import pytest

from tests.threads.checker import assert_consistent
from tests.threads.conftest import messages_of, read_newest, read_up_to, row, say, start
from threads import cache
from threads.actions.folders import mark_unread, pin_thread
from threads.dynamodb.store import count_requests


@pytest.fixture
def cached(thread) -> cache.CachedThread:
    return cache.reload(thread)


def test_data_read_before_a_send_does_not_replace_newer_data(thread, buyer):
    old = cache.load(thread)
    say(buyer, thread)
    cache.put(old)
    assert cache.peek(thread).thread.last_seq == 2
    with count_requests() as requests:
        say(buyer, thread)
    assert requests == ["TransactWriteItems"]


def test_data_read_before_a_cursor_moved_does_not_move_it_back(thread, buyer, seller):
    old = cache.load(thread)
    read_newest(seller, thread)
    cache.put(old)
    assert cache.peek(thread).people[seller.id].last_read_seq == 1
    assert cache.peek(thread).people[seller.id].unread == 0
    assert not cache.peek(thread).cursors_are_stale


def test_a_row_is_as_new_as_its_thread(thread, buyer, seller):
    """A newer cursor in the cache must not keep the older row."""
    cached = cache.reload(thread)
    fresh = cached.copy()
    read_newest(seller, thread)
    for person in fresh.people.values():
        person.last_seq = person.last_tally = 2
    fresh.thread.last_seq = 2
    cache.put(fresh)

    current = cache.peek(thread)
    assert current.people[seller.id].last_seq == 2
    assert current.cursors_are_stale


def test_reading_updates_the_cache(cached, thread, buyer, seller):
    last = say(buyer, thread)
    read_newest(seller, thread)
    current = cache.peek(thread).people[seller.id]
    assert (current.last_read_seq, current.delivered_seq, current.unread) == (last.seq, 2, 0)
    assert current.unread_pk is None


def test_a_late_cursor_update_marks_cursors_as_stale(thread, buyer, seller):
    """The same user sent a message between the write of the cursor and its cache update."""
    first = messages_of(thread)[0]
    say(buyer, thread)
    say(seller, thread, seen_seq=0)
    cache.reload(thread)
    late = row(thread, seller).copy()
    say(seller, thread, seen_seq=0)
    late.last_read_seq, late.last_read_tally, late.own_since_read = first.seq, first.tally, 1
    cache.update_participant(late)

    assert cache.peek(thread).cursors_are_stale
    assert cache.peek(thread).people[seller.id].last_seq == 4


def test_a_stale_unread_count_is_not_published(thread, buyer, seller, delivered):
    cache.reload(thread).cursors_are_stale = True
    say(buyer, thread)
    assert delivered.to(seller, "inbox.changed")[-1]["unread"] is None
    # A reload clears the mark.
    cache.reload(thread)
    say(buyer, thread)
    assert delivered.to(seller, "inbox.changed")[-1]["unread"] == 3


def test_a_copy_shares_no_state(cached, thread):
    twin = cached.copy()
    twin.thread.last_seq = 99
    twin.people.clear()
    assert cached.thread.last_seq == 1
    assert len(cached.people) == 2


def test_the_least_recently_used_threads_are_evicted(buyer, seller, monkeypatch):
    monkeypatch.setattr(cache, "MAX_ENTRIES", 3)
    monkeypatch.setattr(cache, "_entries", type(cache._entries)())
    one, two, three = (start(buyer, seller) for _ in range(3))
    say(buyer, one)
    four = start(buyer, seller)

    assert cache.peek(two) is None
    assert all(cache.peek(each) for each in (one, three, four))


def test_partial_reading_is_cached_as_stored(thread, buyer, seller):
    middle = say(buyer, thread)
    say(buyer, thread)
    say(seller, thread, seen_seq=0)
    read_up_to(seller, middle)
    pin_thread(seller, thread_id=thread)

    current, stored = cache.peek(thread).people[seller.id], row(thread, seller)
    assert current.attribute_values == stored.attribute_values


def as_in_another_process(thread: str, action: Callable[[], object]) -> None:
    """Runs an action that the cache of this process does not see."""
    before = cache.reload(thread).copy()
    action()
    cache._entries[thread] = before


def test_sending_removes_a_mark_as_unread_that_the_cache_lacks(thread, seller):
    read_newest(seller, thread)
    as_in_another_process(thread, lambda: mark_unread(seller, thread_id=thread))
    say(seller, thread, seen_seq=1)

    assert row(thread, seller).marked_unread is None
    assert row(thread, seller).unread_pk is None
    assert_consistent(thread)


def test_a_row_that_the_cache_has_in_an_old_version_is_written_completely(thread, buyer, seller):
    as_in_another_process(thread, lambda: say(seller, thread))
    say(buyer, thread, seen_seq=2)

    assert row(thread, buyer).waiting_for == row(thread, seller).waiting_for == seller.id
    assert row(thread, buyer).pending_pk is None
    assert_consistent(thread)
