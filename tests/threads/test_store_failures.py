"""The store is busy, slow or away: nothing is lost, nothing is stored twice, everybody is told."""

import time
from uuid import uuid4

import pytest
from django.conf import settings

from core.refusals import Refusal
from tests.threads.checker import assert_consistent
from tests.threads.conftest import (
    add_friend,
    deliver_newest,
    messages_of,
    read_newest,
    read_up_to,
    row,
    say,
    start,
    thread_item,
)
from tests.threads.faults import (
    ALWAYS,
    UPDATE,
    WRITE,
    client_error,
    connection_closed,
    read_timeout,
    transaction_cancelled,
    unreachable,
)
from threads.actions.cursors import mark_read
from threads.actions.folders import archive_thread, pin_thread, restore_thread
from threads.actions.messages import send_message
from threads.actions.participants import leave_thread, remove_participant
from threads.dynamodb import keys
from threads.dynamodb.store import Store
from threads.dynamodb.table import Item, query
from threads.models import Pair, PairThread
from threads.queries import get_rows, open_thread

BUSY = [
    transaction_cancelled("TransactionConflict"),
    transaction_cancelled("ThrottlingError"),
    transaction_cancelled("ProvisionedThroughputExceeded"),
    client_error("ThrottlingException"),
    client_error("ProvisionedThroughputExceededException"),
    client_error("RequestLimitExceeded"),
    client_error("TransactionInProgressException"),
    client_error("InternalServerError", status=500),
    client_error("ServiceUnavailable", status=503),
    client_error("", status=502),
]


@pytest.mark.parametrize("busy", BUSY)
def test_a_busy_store_is_asked_again(thread, buyer, seller, delivered, faults, busy):
    faults.before(WRITE, busy, times=3)
    sent = say(buyer, thread, "In spite of it")

    assert faults.count == 3
    assert [message.id for message in messages_of(thread)][1:] == [sent.id]
    assert len(delivered.to(seller, "message.sent")) == 1
    assert_consistent(thread)


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two seconds are long when there are many tests."""
    monkeypatch.setitem(settings.DYNAMODB, "retry_seconds", 0.3)


@pytest.mark.parametrize(
    "busy", [client_error("ThrottlingException"), unreachable, connection_closed, read_timeout]
)
def test_a_store_that_stays_busy_means_try_again(thread, buyer, delivered, faults, hurried, busy):
    faults.before(WRITE, busy, times=ALWAYS)
    with pytest.raises(Refusal) as told:
        say(buyer, thread)

    assert told.value.code == "TRY_AGAIN"
    assert not delivered
    faults.clear()
    assert len(messages_of(thread)) == 1
    assert say(buyer, thread).seq == 2


def test_after_two_seconds_of_conflicts_the_client_is_to_try_again(
    thread, buyer, delivered, faults
):
    faults.before(WRITE, transaction_cancelled("TransactionConflict"), times=ALWAYS)
    began = time.monotonic()
    with pytest.raises(Refusal) as told:
        say(buyer, thread)

    assert told.value.code == "TRY_AGAIN"
    assert time.monotonic() - began >= 2
    assert faults.count > 3
    assert not delivered
    faults.clear()
    assert len(messages_of(thread)) == 1
    assert say(buyer, thread).seq == 2
    assert_consistent(thread)


def test_a_store_that_is_away_means_try_again_for_everything(
    thread, buyer, seller, delivered, faults, hurried
):
    sent = messages_of(thread)[0]
    cursor = {"message_id": sent.id, "seq": sent.seq, "tally": sent.tally}
    faults.before("*", unreachable, times=ALWAYS)
    for ask in (
        lambda: say(buyer, thread),
        lambda: start(buyer, seller),
        lambda: open_thread(buyer, thread),
        lambda: get_rows(buyer, [thread]),
        lambda: mark_read(seller, thread_id=thread, **cursor),
        lambda: pin_thread(seller, thread_id=thread),
        lambda: leave_thread(seller, thread_id=thread),
    ):
        with pytest.raises(Refusal) as told:
            ask()
        assert told.value.code == "TRY_AGAIN"
    assert not delivered
    faults.clear()
    assert len(messages_of(thread)) == 1


# --- The answer is lost after the work was done


# Lost once, the transaction is repeated with its token; lost every time, the sent marker tells.
@pytest.fixture(params=[1, ALWAYS], ids=["once", "always"])
def times(request, monkeypatch: pytest.MonkeyPatch) -> float:
    if request.param == ALWAYS:
        monkeypatch.setitem(settings.DYNAMODB, "retry_seconds", 0.1)
    return request.param


@pytest.mark.parametrize(
    "lost", [connection_closed, read_timeout, client_error("InternalServerError", status=500)]
)
@pytest.mark.parametrize("is_cold", [False, True])
def test_a_message_whose_answer_was_lost_is_stored_and_told_once(
    thread, buyer, seller, delivered, faults, cold, lost, is_cold, times
):
    if is_cold:
        cold(thread)
    faults.after(WRITE, lost, times=times)
    sent = say(buyer, thread, "Heard once")

    assert faults.count >= 1
    assert [message.id for message in messages_of(thread)][1:] == [sent.id]
    for person in (buyer, seller):
        (event,) = delivered.to(person, "message.sent")
        assert (event["message"], event["seq"], event["body"]) == (sent.id, 2, "Heard once")
    assert delivered.to(seller, "inbox.changed")[-1]["unread"] == 2
    assert_consistent(thread)


def test_an_answer_lost_at_the_very_end_of_patience_is_still_looked_for(
    thread, buyer, seller, delivered, faults, monkeypatch
):
    monkeypatch.setitem(settings.DYNAMODB, "retry_seconds", 0.0)
    faults.after(WRITE, connection_closed)
    sent = say(buyer, thread)

    assert len(messages_of(thread)) == 2
    assert [event["message"] for event in delivered.to(seller, "message.sent")] == [sent.id]


def test_a_message_whose_answer_was_lost_and_then_the_store_too_is_acknowledged_on_retry(
    thread, buyer, faults, hurried
):
    client_id = str(uuid4())
    faults.after(WRITE, connection_closed)
    faults.before("*", unreachable, times=ALWAYS)
    with pytest.raises(Refusal) as told:
        send_message(buyer, thread_id=thread, client_id=client_id, body="Once")
    assert told.value.code == "TRY_AGAIN"

    faults.clear()
    again = send_message(buyer, thread_id=thread, client_id=client_id, body="Once")
    assert [message.id for message in messages_of(thread)][1:] == [again.id]
    assert_consistent(thread)


def test_somebody_added_whose_answer_was_lost_is_told_of(
    thread, buyer, seller, stranger, delivered, faults, times
):
    faults.after(WRITE, connection_closed, times=times)
    add_friend(buyer, thread_id=thread, user=stranger)

    assert thread_item(thread).roster_version == 2
    for person in (buyer, seller, stranger):
        assert len(delivered.to(person, "message.sent")) == 1
        (changed,) = delivered.to(person, "thread.changed")
        assert [each["name"] for each in changed["roster"]] == ["Bea", "Sam", "Stig"]
    assert_consistent(thread)


def test_somebody_removed_whose_answer_was_lost_is_told_of(
    thread, buyer, seller, stranger, delivered, faults, times
):
    add_friend(buyer, thread_id=thread, user=stranger)
    delivered.clear()
    faults.after(WRITE, connection_closed, times=times)
    remove_participant(buyer, thread_id=thread, user_id=stranger.id)

    assert row(thread, stranger) is None
    assert len(delivered.to(seller, "message.sent")) == 1
    assert len(delivered.to(seller, "thread.changed")) == 1
    assert delivered.to(stranger, "thread.changed")[0]["status"] == "left"
    assert not delivered.to(stranger, "message.sent")
    assert_consistent(thread)


def test_somebody_who_left_is_not_told_that_there_is_no_such_thread(
    thread, buyer, seller, delivered, faults, times
):
    faults.after(WRITE, connection_closed, times=times)
    leave_thread(seller, thread_id=thread)

    assert row(thread, seller) is None
    assert len(delivered.to(buyer, "message.sent")) == 1
    assert_consistent(thread)


@pytest.mark.parametrize("lost", [connection_closed, read_timeout])
def test_a_start_whose_answer_was_lost_makes_one_thread_and_tells_of_it(
    buyer, seller, delivered, faults, lost
):
    faults.after(WRITE, lost)
    thread = start(buyer, seller)

    for person in (buyer, seller):
        (event,) = delivered.to(person, "message.sent")
        assert event["thread"] == thread
    pair_pk = keys.pair_pk(buyer.id, seller.id)
    threads = query(pair_pk, Item.sk.startswith(keys.PAIR_THREADS), limit=10).of(PairThread)
    assert [each.thread_id for each in threads] == [thread]
    assert Pair.find(pair_pk, keys.STATE).accepted
    assert_consistent(thread)


def test_a_busy_store_is_asked_again_for_a_start(buyer, seller, delivered, faults):
    faults.before(WRITE, transaction_cancelled("TransactionConflict"), times=2)
    thread = start(buyer, seller)
    assert len(delivered.to(seller, "message.sent")) == 1
    assert_consistent(thread)


# --- Single writes meet a transaction on the same item


def test_a_cursor_waits_for_the_transaction_that_has_its_item(thread, buyer, seller, faults):
    faults.before(UPDATE, client_error("TransactionConflictException"), times=3)
    read_newest(seller, thread)

    assert faults.count == 3
    assert row(thread, seller).unread == 0
    assert_consistent(thread)


def test_a_folder_waits_for_the_transaction_that_has_its_item(thread, seller, faults):
    faults.before(UPDATE, client_error("TransactionConflictException"), times=3)
    archive_thread(seller, thread_id=thread)

    assert row(thread, seller).folder == "archived"
    assert_consistent(thread)


def test_a_cursor_does_not_wait_for_ever(thread, seller, faults, hurried):
    faults.before(UPDATE, client_error("TransactionConflictException"), times=ALWAYS)
    with pytest.raises(Refusal) as told:
        read_newest(seller, thread)
    assert told.value.code == "TRY_AGAIN"
    assert row(thread, seller).unread == 1


# --- What one does meanwhile is not undone


def test_archiving_while_another_device_reads_leaves_nothing_listed_as_unread(
    thread, buyer, seller, faults
):
    archive_thread(seller, thread_id=thread)
    faults.run_before(UPDATE, lambda: read_newest(seller, thread))
    restore_thread(seller, thread_id=thread)

    assert row(thread, seller).unread == 0
    assert_consistent(thread)


def test_pinning_while_another_device_reads_leaves_nothing_listed_as_unread(thread, seller, faults):
    faults.run_before(UPDATE, lambda: read_newest(seller, thread))
    pin_thread(seller, thread_id=thread)
    assert_consistent(thread)


def test_pinning_while_somebody_writes_ends_at_the_new_time(thread, buyer, seller, faults):
    faults.run_before(UPDATE, lambda: say(buyer, thread))
    pin_thread(seller, thread_id=thread)
    assert row(thread, seller).pinned
    assert_consistent(thread)


def test_reading_in_part_does_not_take_back_what_another_device_has_got(
    thread, buyer, seller, faults
):
    part = say(buyer, thread)
    say(buyer, thread)
    faults.run_before(UPDATE, lambda: deliver_newest(seller, thread))
    read_up_to(seller, part)

    mine = row(thread, seller)
    assert (mine.last_read_seq, mine.delivered_seq) == (2, 3)
    assert mine.pending_pk is None
    assert_consistent(thread)


def test_sending_while_one_archives_and_reads_elsewhere_lists_nothing_as_unread(
    thread, buyer, seller, stranger, other_process
):
    """What this process believes of their cursor is old when the row comes back."""
    say(buyer, thread)
    message = messages_of(thread)[-1]
    other_process.do(archive_thread, seller, thread_id=thread)
    with pytest.raises(Refusal):
        say(stranger, thread)
    other_process.do(
        mark_read,
        seller,
        thread_id=thread,
        message_id=message.id,
        seq=message.seq,
        tally=message.tally,
    )
    # A system line brings it back to the inbox, with nothing unread.
    add_friend(buyer, thread_id=thread, user=stranger)

    assert row(thread, seller).folder == "inbox"
    assert row(thread, seller).unread_pk is None
    assert_consistent(thread)


def test_asking_many_rows_asks_again_for_what_was_left_over(thread, buyer, monkeypatch):
    real = Store._make_api_call
    left_over = iter([True, False])

    def leave_over(store: Store, operation: str, arguments: dict) -> dict:
        answer = real(store, operation, arguments)
        if operation == "BatchGetItem" and next(left_over, False):
            (table,) = answer["Responses"]
            answer["UnprocessedKeys"] = {table: arguments["RequestItems"][table]}
            answer["Responses"] = {table: []}
        return answer

    monkeypatch.setattr(Store, "_make_api_call", leave_over)
    (mine,) = get_rows(buyer, [thread])
    assert mine.thread_id == thread
    assert mine.user_id == buyer.id
