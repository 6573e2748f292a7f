"""A throttled, slow or unavailable store: nothing is lost, and nothing is stored twice."""

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

RETRIED = [
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


@pytest.mark.parametrize("fault", RETRIED)
def test_a_transient_failure_is_retried(thread, buyer, seller, delivered, faults, fault):
    faults.before(WRITE, fault, times=3)
    sent = say(buyer, thread, "In spite of it")

    assert faults.count == 3
    assert [message.id for message in messages_of(thread)][1:] == [sent.id]
    assert len(delivered.to(seller, "message.sent")) == 1
    assert_consistent(thread)


@pytest.fixture
def short_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """A short deadline keeps the tests fast."""
    monkeypatch.setitem(settings.DYNAMODB, "retry_seconds", 0.3)


@pytest.mark.parametrize(
    "fault", [client_error("ThrottlingException"), unreachable, connection_closed, read_timeout]
)
def test_a_lasting_failure_is_refused_with_try_again(
    thread, buyer, delivered, faults, short_deadline, fault
):
    faults.before(WRITE, fault, times=ALWAYS)
    with pytest.raises(Refusal) as refused:
        say(buyer, thread)

    assert refused.value.code == "TRY_AGAIN"
    assert not delivered
    faults.clear()
    assert len(messages_of(thread)) == 1
    assert say(buyer, thread).seq == 2


def test_two_seconds_of_conflicts_are_refused_with_try_again(thread, buyer, delivered, faults):
    faults.before(WRITE, transaction_cancelled("TransactionConflict"), times=ALWAYS)
    began = time.monotonic()
    with pytest.raises(Refusal) as refused:
        say(buyer, thread)

    assert refused.value.code == "TRY_AGAIN"
    assert time.monotonic() - began >= 2
    assert faults.count > 3
    assert not delivered
    faults.clear()
    assert len(messages_of(thread)) == 1
    assert say(buyer, thread).seq == 2
    assert_consistent(thread)


def test_every_action_is_refused_with_try_again_while_the_store_is_unavailable(
    thread, buyer, seller, delivered, faults, short_deadline
):
    sent = messages_of(thread)[0]
    cursor = {"message_id": sent.id, "seq": sent.seq, "tally": sent.tally}
    faults.before("*", unreachable, times=ALWAYS)
    for action in (
        lambda: say(buyer, thread),
        lambda: start(buyer, seller),
        lambda: open_thread(buyer, thread),
        lambda: get_rows(buyer, [thread]),
        lambda: mark_read(seller, thread_id=thread, **cursor),
        lambda: pin_thread(seller, thread_id=thread),
        lambda: leave_thread(seller, thread_id=thread),
    ):
        with pytest.raises(Refusal) as refused:
            action()
        assert refused.value.code == "TRY_AGAIN"
    assert not delivered
    faults.clear()
    assert len(messages_of(thread)) == 1


# --- The answer is lost after the write


# After one lost answer the retry has the same token; if all are lost, the sent marker is read.
@pytest.fixture(params=[1, ALWAYS], ids=["once", "always"])
def times(request, monkeypatch: pytest.MonkeyPatch) -> float:
    if request.param == ALWAYS:
        monkeypatch.setitem(settings.DYNAMODB, "retry_seconds", 0.1)
    return request.param


@pytest.mark.parametrize(
    "lost", [connection_closed, read_timeout, client_error("InternalServerError", status=500)]
)
@pytest.mark.parametrize("is_cold", [False, True])
def test_a_message_whose_answer_was_lost_is_stored_and_published_once(
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


def test_an_answer_lost_at_the_deadline_is_still_checked(
    thread, buyer, seller, delivered, faults, monkeypatch
):
    monkeypatch.setitem(settings.DYNAMODB, "retry_seconds", 0.0)
    faults.after(WRITE, connection_closed)
    sent = say(buyer, thread)

    assert len(messages_of(thread)) == 2
    assert [event["message"] for event in delivered.to(seller, "message.sent")] == [sent.id]


def test_a_message_is_acknowledged_on_retry_after_a_lost_answer_and_an_outage(
    thread, buyer, faults, short_deadline
):
    client_id = str(uuid4())
    faults.after(WRITE, connection_closed)
    faults.before("*", unreachable, times=ALWAYS)
    with pytest.raises(Refusal) as refused:
        send_message(buyer, thread_id=thread, client_id=client_id, body="Once")
    assert refused.value.code == "TRY_AGAIN"

    faults.clear()
    again = send_message(buyer, thread_id=thread, client_id=client_id, body="Once")
    assert [message.id for message in messages_of(thread)][1:] == [again.id]
    assert_consistent(thread)


def test_adding_is_published_after_a_lost_answer(
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


def test_removing_is_published_after_a_lost_answer(
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


def test_leaving_is_not_refused_after_a_lost_answer(
    thread, buyer, seller, delivered, faults, times
):
    faults.after(WRITE, connection_closed, times=times)
    leave_thread(seller, thread_id=thread)

    assert row(thread, seller) is None
    assert len(delivered.to(buyer, "message.sent")) == 1
    assert_consistent(thread)


@pytest.mark.parametrize("lost", [connection_closed, read_timeout])
def test_a_start_whose_answer_was_lost_creates_and_publishes_one_thread(
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


def test_a_conflict_of_a_start_is_retried(buyer, seller, delivered, faults):
    faults.before(WRITE, transaction_cancelled("TransactionConflict"), times=2)
    thread = start(buyer, seller)
    assert len(delivered.to(seller, "message.sent")) == 1
    assert_consistent(thread)


# --- Single writes in conflict with a transaction


def test_a_cursor_update_retries_a_transaction_conflict(thread, buyer, seller, faults):
    faults.before(UPDATE, client_error("TransactionConflictException"), times=3)
    read_newest(seller, thread)

    assert faults.count == 3
    assert row(thread, seller).unread == 0
    assert_consistent(thread)


def test_a_folder_change_retries_a_transaction_conflict(thread, seller, faults):
    faults.before(UPDATE, client_error("TransactionConflictException"), times=3)
    archive_thread(seller, thread_id=thread)

    assert row(thread, seller).folder == "archived"
    assert_consistent(thread)


def test_retries_of_a_cursor_update_end_at_the_deadline(thread, seller, faults, short_deadline):
    faults.before(UPDATE, client_error("TransactionConflictException"), times=ALWAYS)
    with pytest.raises(Refusal) as refused:
        read_newest(seller, thread)
    assert refused.value.code == "TRY_AGAIN"
    assert row(thread, seller).unread == 1


# --- Concurrent changes by the same user


def test_restoring_while_another_device_reads_lists_nothing_as_unread(
    thread, buyer, seller, faults
):
    archive_thread(seller, thread_id=thread)
    faults.run_before(UPDATE, lambda: read_newest(seller, thread))
    restore_thread(seller, thread_id=thread)

    assert row(thread, seller).unread == 0
    assert_consistent(thread)


def test_pinning_while_another_device_reads_lists_nothing_as_unread(thread, seller, faults):
    faults.run_before(UPDATE, lambda: read_newest(seller, thread))
    pin_thread(seller, thread_id=thread)
    assert_consistent(thread)


def test_pinning_during_a_send_keeps_the_new_time(thread, buyer, seller, faults):
    faults.run_before(UPDATE, lambda: say(buyer, thread))
    pin_thread(seller, thread_id=thread)
    assert row(thread, seller).pinned
    assert_consistent(thread)


def test_partial_reading_keeps_the_delivery_of_another_device(thread, buyer, seller, faults):
    middle = say(buyer, thread)
    say(buyer, thread)
    faults.run_before(UPDATE, lambda: deliver_newest(seller, thread))
    read_up_to(seller, middle)

    mine = row(thread, seller)
    assert (mine.last_read_seq, mine.delivered_seq) == (2, 3)
    assert mine.pending_pk is None
    assert_consistent(thread)


def test_a_row_archived_and_read_in_another_process_is_not_listed_as_unread(
    thread, buyer, seller, stranger, other_process
):
    """The cached cursor is stale when the row returns to the inbox."""
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
    # A system message restores the row, with nothing unread.
    add_friend(buyer, thread_id=thread, user=stranger)

    assert row(thread, seller).folder == "inbox"
    assert row(thread, seller).unread_pk is None
    assert_consistent(thread)


def test_unprocessed_keys_of_a_batch_read_are_retried(thread, buyer, monkeypatch):
    real = Store._make_api_call
    unprocessed = iter([True, False])

    def call_partly(store: Store, operation: str, arguments: dict) -> dict:
        answer = real(store, operation, arguments)
        if operation == "BatchGetItem" and next(unprocessed, False):
            (table,) = answer["Responses"]
            answer["UnprocessedKeys"] = {table: arguments["RequestItems"][table]}
            answer["Responses"] = {table: []}
        return answer

    monkeypatch.setattr(Store, "_make_api_call", call_partly)
    (mine,) = get_rows(buyer, [thread])
    assert mine.thread_id == thread
    assert mine.user_id == buyer.id
