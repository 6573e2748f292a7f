"""mark_delivered and mark_read: forward only, exact, and never beyond existing messages."""

import contextlib
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from ulid import ULID

from core.refusals import Refusal
from demo.history import PastMessage, PastThread, write_history
from tests.indexes import settle
from tests.threads.checker import assert_consistent
from tests.threads.conftest import (
    add_friend,
    deliver_newest,
    deliver_up_to,
    messages_of,
    read_newest,
    read_up_to,
    row,
    say,
    start,
)
from threads import cache
from threads.actions import cursors as cursors_module
from threads.actions.cursors import mark_delivered, mark_read
from threads.actions.folders import archive_thread
from threads.dynamodb import keys
from threads.dynamodb.store import count_requests
from threads.dynamodb.table import Item, query
from threads.models import Participant

pytestmark = pytest.mark.indexes


def pending_of(user) -> list[str]:
    settle()
    page = query(keys.pending_pk(user.id), limit=50, index=Item.pending)
    return [row.thread_id for row in page.of(Participant)]


def unread_of(user) -> list[str]:
    settle()
    page = query(keys.unread_pk(user.id), limit=50, index=Item.unread_threads)
    return [row.thread_id for row in page.of(Participant)]


def cursors(thread, user) -> tuple[int, int, int]:
    mine = row(thread, user)
    return mine.delivered_seq, mine.last_read_seq, mine.unread


# --- Reading


def test_reading_the_newest_leaves_nothing_unread_and_nothing_pending(thread, buyer, seller):
    last = say(buyer, thread)
    assert (pending_of(seller), unread_of(seller)) == ([thread], [thread])

    read_newest(seller, thread)

    assert cursors(thread, seller) == (2, 2, 0)
    mine = row(thread, seller)
    assert (mine.last_read_message_id, mine.last_read_tally) == (last.id, 2)
    assert mine.last_read_at is not None
    assert (pending_of(seller), unread_of(seller)) == ([], [])
    assert_consistent(thread)


def test_reading_is_published_to_all_and_clears_the_readers_inbox(thread, buyer, seller, delivered):
    say(buyer, thread)
    delivered.clear()
    read_newest(seller, thread)

    for person in (buyer, seller):
        (moved,) = delivered.to(person, "cursor.moved")
        assert (moved["user"], moved["read_seq"], moved["delivered_seq"]) == (seller.id, 2, 2)
    (changed,) = delivered.to(seller, "inbox.changed")
    assert changed["unread"] == 0
    assert not delivered.to(buyer, "inbox.changed")


def test_reading_an_earlier_message_leaves_the_rest_unread(thread, buyer, seller):
    middle = say(buyer, thread)
    say(buyer, thread)
    say(buyer, thread)

    read_up_to(seller, middle)

    assert cursors(thread, seller) == (2, 2, 2)
    assert row(thread, seller).first_undelivered_seq == 3
    assert (pending_of(seller), unread_of(seller)) == ([thread], [thread])
    assert_consistent(thread)


def test_own_messages_in_between_are_not_unread(thread, buyer, seller):
    say(seller, thread, seen_seq=1)
    middle = say(buyer, thread)
    say(seller, thread)
    say(buyer, thread)
    say(seller, thread)

    read_up_to(seller, middle)

    mine = row(thread, seller)
    assert (mine.last_read_seq, mine.own_since_read, mine.unread) == (3, 2, 1)
    assert unread_of(seller) == [thread]
    assert_consistent(thread)


def test_later_messages_of_the_reader_leave_nothing_unread(thread, buyer, seller):
    received = say(buyer, thread)
    say(seller, thread)
    say(seller, thread)

    read_up_to(seller, received)

    assert row(thread, seller).unread == 0
    assert unread_of(seller) == []
    # No device has confirmed the later messages.
    assert pending_of(seller) == [thread]
    assert_consistent(thread)


def test_later_system_messages_leave_nothing_unread(thread, buyer, seller, stranger):
    received = say(buyer, thread)
    add_friend(buyer, thread_id=thread, user=stranger)
    assert unread_of(seller) == [thread]

    read_up_to(seller, received)

    assert cursors(thread, seller) == (2, 2, 0)
    assert unread_of(seller) == []
    assert pending_of(seller) == [thread]
    assert_consistent(thread)


def test_a_system_message_is_pending_but_not_unread(thread, buyer, seller, stranger):
    read_newest(seller, thread)
    add_friend(buyer, thread_id=thread, user=stranger)

    assert (pending_of(seller), unread_of(seller)) == ([thread], [])
    assert row(thread, seller).unread == 0
    assert_consistent(thread)


def test_reading_backwards_moves_nothing(thread, buyer, seller):
    first = messages_of(thread)[0]
    middle = say(buyer, thread)
    say(buyer, thread)
    read_newest(seller, thread)
    before = row(thread, seller)

    for earlier in (first, middle):
        read_up_to(seller, earlier)
        deliver_up_to(seller, earlier)

    now = row(thread, seller)
    assert cursors(thread, seller) == (3, 3, 0)
    assert now.last_read_message_id == before.last_read_message_id
    assert_consistent(thread)


def test_reading_is_idempotent(thread, buyer, seller):
    middle = say(buyer, thread)
    say(buyer, thread)
    for _ in range(2):
        read_up_to(seller, middle)
        assert cursors(thread, seller) == (2, 2, 1)
    for _ in range(2):
        read_newest(seller, thread)
        assert cursors(thread, seller) == (3, 3, 0)
    assert_consistent(thread)


def test_reading_again_clears_the_unread_mark(thread, buyer, seller):
    read_newest(seller, thread)
    mine = row(thread, seller)
    mine.update(
        [
            Participant.marked_unread.set(True),
            Participant.unread_pk.set(keys.unread_pk(seller.id)),
            Participant.unread_sk.set(keys.thread_sk(thread)),
        ]
    )
    assert_consistent(thread)

    read_newest(seller, thread)

    assert row(thread, seller).marked_unread is None
    assert unread_of(seller) == []
    assert_consistent(thread)


def test_reading_in_the_middle_clears_the_mark_and_keeps_later_messages_unread(
    thread, buyer, seller
):
    middle = say(buyer, thread)
    say(buyer, thread)
    read_up_to(seller, middle)
    row(thread, seller).update([Participant.marked_unread.set(True)])

    read_up_to(seller, middle)

    assert row(thread, seller).marked_unread is None
    assert (row(thread, seller).unread, unread_of(seller)) == (1, [thread])
    assert_consistent(thread)


def test_an_archived_thread_is_never_listed_as_unread(thread, buyer, seller):
    middle = say(buyer, thread)
    say(buyer, thread)
    archive_thread(seller, thread_id=thread)
    read_up_to(seller, middle)

    assert (row(thread, seller).unread, unread_of(seller)) == (1, [])
    assert_consistent(thread)


def test_a_message_sent_during_the_update_stays_unread(thread, buyer, seller, faults):
    seen = say(buyer, thread)
    faults.run_before("UpdateItem", lambda: say(buyer, thread, "Just now"))

    read_up_to(seller, seen)

    assert cursors(thread, seller) == (2, 2, 1)
    assert (pending_of(seller), unread_of(seller)) == ([thread], [thread])
    assert_consistent(thread)


def test_messages_sent_between_query_and_update_are_counted(thread, buyer, seller, faults):
    seen = say(buyer, thread)
    say(seller, thread)
    faults.run_before("UpdateItem", lambda: say(seller, thread))
    read_up_to(seller, seen)

    assert row(thread, seller).own_since_read == 2
    assert_consistent(thread)


# --- Delivery


def test_delivery_of_the_newest_message_leaves_nothing_pending(thread, buyer, seller, delivered):
    say(buyer, thread)
    delivered.clear()
    deliver_newest(seller, thread)

    assert cursors(thread, seller) == (2, 0, 2)
    assert row(thread, seller).first_undelivered_seq is None
    assert (pending_of(seller), unread_of(seller)) == ([], [thread])
    (moved,) = delivered.to(buyer, "cursor.moved")
    assert (moved["delivered_seq"], moved["read_seq"]) == (2, 0)
    assert delivered.to(seller, "inbox.changed")[0]["unread"] == 2
    assert_consistent(thread)


def test_delivery_of_an_earlier_message_leaves_the_rest_pending(thread, buyer, seller):
    middle = say(buyer, thread)
    after = say(buyer, thread)
    deliver_up_to(seller, middle)

    mine = row(thread, seller)
    assert (mine.delivered_seq, mine.first_undelivered_seq) == (2, 3)
    assert mine.first_undelivered_message_id == after.id
    assert pending_of(seller) == [thread]
    assert_consistent(thread)


def test_a_message_sent_after_full_delivery_is_pending_again(thread, buyer, seller):
    deliver_newest(seller, thread)
    assert pending_of(seller) == []
    after = say(buyer, thread)
    say(buyer, thread)

    assert row(thread, seller).first_undelivered_message_id == after.id
    assert pending_of(seller) == [thread]
    assert_consistent(thread)


def test_a_message_of_the_same_user_makes_nothing_pending(thread, buyer, seller):
    say(seller, thread, seen_seq=0)
    deliver_newest(seller, thread)
    first = say(seller, thread, seen_seq=0)
    say(seller, thread, seen_seq=0)

    deliver_up_to(seller, first)

    mine = row(thread, seller)
    assert (mine.first_undelivered_seq, mine.pending_pk) == (None, None)
    assert_consistent(thread)


def test_a_system_message_of_the_same_millisecond_stays_pending(thread, buyer, seller, stranger):
    """A system message has the tally of the message before it, and here also its time."""
    with time_machine.travel(datetime.now(UTC), tick=False):
        sent = say(buyer, thread)
        add_friend(buyer, thread_id=thread, user=stranger)
    cache.invalidate(thread)
    deliver_up_to(seller, sent)

    assert row(thread, seller).delivered_seq == 2
    assert pending_of(seller) == [thread]
    assert_consistent(thread)


# --- Refusals


@pytest.mark.parametrize("mark", [mark_read, mark_delivered])
def test_a_stranger_is_refused_like_for_a_missing_thread(thread, stranger, mark, delivered):
    message = messages_of(thread)[0]
    place = {"message_id": message.id, "seq": 1, "tally": 1}
    with count_requests() as of_stranger, pytest.raises(Refusal) as refused:
        mark(stranger, thread_id=thread, **place)
    with count_requests() as of_missing, pytest.raises(Refusal) as unknown:
        mark(stranger, thread_id="thrd_01JZZZZZZZZZZZZZZZZZZZZZZZ", **place)

    assert refused.value.code == unknown.value.code == "THREAD_NOT_FOUND"
    assert of_stranger == of_missing
    # UpdateItem creates a missing item, which the condition must prevent.
    assert row(thread, stranger) is None
    assert not delivered


def _later(message) -> str:
    at = keys.message_time(message.id) + timedelta(days=1)
    return f"msg_{ULID.from_datetime(at)}"


@pytest.mark.parametrize("mark", [mark_read, mark_delivered])
def test_a_missing_message_is_a_bad_frame(thread, buyer, seller, mark, delivered):
    middle, last = say(buyer, thread), say(buyer, thread)
    other_message = messages_of(start(buyer, seller))[0]
    delivered.clear()
    wrong = [
        (_later(last), 4, 4),
        (_later(last), 3, 3),
        (last.id, 4, 4),
        (last.id, 3, 2),
        (last.id, 3, 4),
        (last.id, 2, 2),
        (middle.id, 3, 3),
        (middle.id, 2, 3),
        (other_message.id, 3, 3),
        (other_message.id, 1, 1),
        ("msg_00000000000000000000000000", 3, 3),
        ("msg_00000000000000000000000000", 1, 1),
        ("msg_7ZZZZZZZZZZZZZZZZZZZZZZZZZ", 3, 3),
        ("msg_7ZZZZZZZZZZZZZZZZZZZZZZZZZ", 1, 1),
    ]
    for message_id, seq, tally in wrong:
        with pytest.raises(Refusal) as refused:
            mark(seller, thread_id=thread, message_id=message_id, seq=seq, tally=tally)
        assert refused.value.code == "BAD_FRAME", (message_id, seq, tally)
    assert cursors(thread, seller) == (0, 0, 3)
    assert not delivered
    assert_consistent(thread)


@pytest.mark.parametrize("mark", [mark_read, mark_delivered])
def test_a_new_participant_cannot_move_a_cursor_below_their_start(
    thread, buyer, seller, stranger, mark
):
    hidden = say(buyer, thread)
    add_friend(buyer, thread_id=thread, user=stranger)
    before = row(thread, stranger)
    for message in messages_of(thread)[:2]:
        place = {"message_id": message.id, "seq": message.seq, "tally": message.tally}
        with contextlib.suppress(Refusal):
            mark(stranger, thread_id=thread, **place)
    after = row(thread, stranger)
    assert after.last_read_seq == before.last_read_seq == hidden.seq
    assert after.delivered_seq == before.delivered_seq == hidden.seq
    assert_consistent(thread)


# --- Large distances


@pytest.fixture
def long_thread(buyer, seller, monkeypatch) -> str:
    """320 messages, of which the seller wrote every third, and read the first 40.

    A smaller query window makes this distance span several pages.
    """
    monkeypatch.setattr(cursors_module, "WINDOW_PAGE_SIZE", 100)
    began = datetime.now(UTC) - timedelta(days=3)
    past = [
        PastMessage(
            (buyer, buyer, seller)[n % 3].id, f"Number {n + 1}", began + timedelta(seconds=n)
        )
        for n in range(320)
    ]
    unread = sum(each.author_id == buyer.id for each in past[40:])
    thread = f"thrd_{ULID()}"
    write_history([PastThread(thread, buyer, seller, "Long", past, unread={seller.id: unread})])
    return thread


def test_reading_over_several_pages_counts_exactly(long_thread, seller):
    messages = messages_of(long_thread)
    assert row(long_thread, seller).last_read_seq == 40

    with count_requests() as requests:
        read_up_to(seller, messages[49])
    assert requests.count("Query") == 4

    assert row(long_thread, seller).last_read_seq == 50
    assert row(long_thread, seller).unread == sum(
        message.author_id != seller.id for message in messages[50:]
    )
    assert_consistent(long_thread)


def test_an_ancient_id_does_not_read_the_whole_thread(long_thread, seller):
    place = {"thread_id": long_thread, "message_id": "msg_00000000000000000000000001"}
    for mark in (mark_read, mark_delivered):
        for seq in (320, 250):
            with count_requests() as requests, pytest.raises(Refusal):
                mark(seller, seq=seq, tally=seq, **place)
            assert requests in (["UpdateItem", "Query"], ["Query"])
        with count_requests() as requests:
            mark(seller, seq=10, tally=10, **place)
        # At most a failed update, one query, and a query of the subscribers.
        assert len(requests) <= 3
    assert cursors(long_thread, seller)[:2] == (40, 40)


def test_a_place_before_the_cursor_costs_one_query(long_thread, seller):
    messages = messages_of(long_thread)
    read_newest(seller, long_thread)
    with count_requests() as requests:
        read_up_to(seller, messages[10])
        deliver_up_to(seller, messages[10])
    assert requests == ["Query"] * 2
    assert row(long_thread, seller).last_read_seq == 320
