"""What a process believes of a thread: never older than what it knew, and sometimes in doubt."""

import pytest

from tests.threads.conftest import messages_of, read_newest, read_up_to, row, say, start
from threads import cache
from threads.actions.folders import pin_thread
from threads.dynamodb.store import count_requests


@pytest.fixture
def known(thread) -> cache.CachedThread:
    return cache.reload(thread)


def test_what_was_read_before_a_send_does_not_undo_what_it_taught(thread, buyer):
    old = cache.load(thread)
    say(buyer, thread)
    cache.put(old)
    assert cache.peek(thread).thread.last_seq == 2
    with count_requests() as requests:
        say(buyer, thread)
    assert requests == ["TransactWriteItems"]


def test_what_was_read_before_a_cursor_moved_does_not_move_it_back(thread, buyer, seller):
    old = cache.load(thread)
    read_newest(seller, thread)
    cache.put(old)
    assert cache.peek(thread).people[seller.id].last_read_seq == 1
    assert cache.peek(thread).people[seller.id].unread == 0
    assert not cache.peek(thread).cursors_are_stale


def test_a_row_is_as_new_as_its_thread_whatever_was_known_of_its_cursor(thread, buyer, seller):
    """The newer cursor must not bring the older row along."""
    known = cache.reload(thread)
    fresh = known.copy()
    read_newest(seller, thread)
    for person in fresh.people.values():
        person.last_seq = person.last_tally = 2
    fresh.thread.last_seq = 2
    cache.put(fresh)

    believed = cache.peek(thread)
    assert believed.people[seller.id].last_seq == 2
    assert believed.cursors_are_stale


def test_what_one_reads_here_is_known_here(known, thread, buyer, seller):
    last = say(buyer, thread)
    read_newest(seller, thread)
    believed = cache.peek(thread).people[seller.id]
    assert (believed.last_read_seq, believed.delivered_seq, believed.unread) == (last.seq, 2, 0)
    assert believed.unread_pk is None


def test_a_cursor_that_comes_late_leaves_a_doubt_and_no_wrong_count(thread, buyer, seller):
    """Between its write and its coming home, the same person wrote."""
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


def test_in_doubt_nobody_is_told_a_number(thread, buyer, seller, delivered):
    cache.reload(thread).cursors_are_stale = True
    say(buyer, thread)
    assert delivered.to(seller, "inbox.changed")[-1]["unread"] is None
    # A page that is read takes the doubt away.
    cache.reload(thread)
    say(buyer, thread)
    assert delivered.to(seller, "inbox.changed")[-1]["unread"] == 3


def test_a_copy_is_a_thing_of_its_own(known, thread):
    twin = known.copy()
    twin.thread.last_seq = 99
    twin.people.clear()
    assert known.thread.last_seq == 1
    assert len(known.people) == 2


def test_the_threads_used_last_are_kept(buyer, seller, monkeypatch):
    monkeypatch.setattr(cache, "MAX_ENTRIES", 3)
    monkeypatch.setattr(cache, "_entries", type(cache._entries)())
    one, two, three = (start(buyer, seller) for _ in range(3))
    say(buyer, one)
    four = start(buyer, seller)

    assert cache.peek(two) is None
    assert all(cache.peek(each) for each in (one, three, four))


def test_reading_in_part_is_believed_as_it_is_stored(thread, buyer, seller):
    middle = say(buyer, thread)
    say(buyer, thread)
    say(seller, thread, seen_seq=0)
    read_up_to(seller, middle)
    pin_thread(seller, thread_id=thread)

    believed, stored = cache.peek(thread).people[seller.id], row(thread, seller)
    assert believed.attribute_values == stored.attribute_values
