"""Sends without a marker: a repeat is recognised among the messages since the first attempt."""

from uuid import uuid4

import pytest

from core.refusals import Refusal
from tests.threads import other_processes
from tests.threads.checker import assert_consistent, read_partition
from tests.threads.conftest import messages_of, say, thread_item
from threads import cache
from threads.actions.messages import OutgoingMessage, send_batch, send_message
from threads.actions.revisions import edit_message, remove_message
from threads.dynamodb.errors import StoreUnavailable
from threads.dynamodb.store import RequestCounter, count_requests
from threads.dynamodb.transactions import Transaction
from threads.models import Message, SentMarker, Thread
from threads.models.thread import LOCKED
from threads.recent_sends import MAX_SENDS, RecentSends
from threads.sending import repeats

SEND = ["TransactWriteItems"]


@pytest.fixture
def fields(thread):
    """A send by a client that has the first message of the thread."""
    return {"thread_id": thread, "client_id": str(uuid4()), "body": "Once", "after_seq": 1}


def cost(action, *args, **kwargs) -> RequestCounter:
    with count_requests() as requests:
        action(*args, **kwargs)
    return requests


def markers_of(thread: str) -> list[SentMarker]:
    return [item for item in read_partition(thread) if isinstance(item, SentMarker)]


# --- Cost


def test_a_send_writes_four_items_in_one_request(thread, buyer, fields, monkeypatch):
    written = []
    commit = Transaction.commit_once
    monkeypatch.setattr(
        Transaction, "commit_once", lambda self: (written.append(len(self.items)), commit(self))[1]
    )
    before = markers_of(thread)
    assert cost(send_message, buyer, **fields) == SEND
    assert written == [4]
    assert len(markers_of(thread)) == len(before)
    assert_consistent(thread)


def test_a_send_without_after_seq_has_a_marker(thread, buyer):
    before = len(markers_of(thread))
    say(buyer, thread)
    assert len(markers_of(thread)) == before + 1


def test_a_client_with_many_messages_in_flight_causes_no_reads(thread, buyer):
    with count_requests() as requests:
        for _ in range(30):
            say(buyer, thread, after_seq=1)
    assert requests == 30 * SEND


def test_messages_that_this_process_does_not_know_are_read_once(thread, buyer, fields):
    say(buyer, thread)
    cache.invalidate(thread)
    assert cost(send_message, buyer, **fields) == ["Query", "Query", *SEND]
    assert cost(say, buyer, thread, after_seq=3) == SEND


# --- Repeats


def test_a_repeat_is_stored_once(thread, buyer, fields, delivered):
    once = send_message(buyer, **fields)
    events = len(delivered)
    again = send_message(buyer, **fields)
    assert (again.id, again.seq) == (once.id, once.seq)
    assert len(messages_of(thread)) == 2
    assert len(delivered) == events


def test_a_repeat_in_a_batch_is_stored_once(thread, buyer, fields):
    batch = [OutgoingMessage(buyer, **fields) for _ in range(2)]
    send_batch(batch)
    assert [one.is_done for one in batch] == [True, False]
    assert batch[1].run().id == batch[0].message.id
    assert len(messages_of(thread)) == 2


def test_a_repeat_of_a_message_of_another_process_is_found(thread, buyer, fields, other_process):
    say(buyer, thread)
    client_id = fields["client_id"]
    stored = other_process.do(other_processes.send, buyer, thread, "Once", client_id, 0, 1).value
    again = send_message(buyer, **fields)
    assert (again.id, again.seq) == stored
    assert_consistent(thread)


def test_a_first_attempt_that_is_overtaken_by_its_repeat_is_found(
    thread, buyer, fields, other_process, monkeypatch
):
    """The first attempt is slow, and its client has sent the message again through a process."""
    commit, stored = Transaction.commit_once, []

    def store_elsewhere_first(self: Transaction) -> None:
        if not stored:
            send = (buyer, thread, "Once", fields["client_id"], 0, 1)
            stored.append(other_process.do(other_processes.send, *send).value)
        commit(self)

    monkeypatch.setattr(Transaction, "commit_once", store_elsewhere_first)
    slow = send_message(buyer, **fields)
    assert [(slow.id, slow.seq)] == stored
    assert len(messages_of(thread)) == 2
    assert_consistent(thread)


@pytest.mark.parametrize("is_stored", [True, False])
def test_after_a_lost_response_the_message_is_stored_once(
    thread, buyer, fields, delivered, monkeypatch, is_stored
):
    commit, attempts = Transaction.commit_once, []

    def lose_the_first_response(self: Transaction) -> None:
        attempts.append(self)
        if len(attempts) > 1 or is_stored:
            commit(self)
        if len(attempts) == 1:
            raise StoreUnavailable("timeout")

    monkeypatch.setattr(Transaction, "commit_once", lose_the_first_response)
    message = send_message(buyer, **fields)
    assert [one.id for one in messages_of(thread)][1:] == [message.id]
    assert len(attempts) == (1 if is_stored else 2)
    assert delivered
    assert_consistent(thread)


def test_a_message_of_another_process_with_the_same_id_is_not_taken_for_ours(
    thread, buyer, seller, fields, monkeypatch, delivered
):
    """In the same millisecond, two processes make the same id for their next message."""
    commit, attempts = Transaction.commit_once, []

    def store_another_under_our_id(self: Transaction) -> None:
        attempts.append(self)
        if len(attempts) > 1:
            return commit(self)
        put = self.items[0]["Put"]["Item"]
        put["clientId"], put["body"] = {"S": str(uuid4())}, {"S": "Another"}
        put["authorUserId"] = {"S": seller.id}
        commit(self)
        raise StoreUnavailable("timeout")

    monkeypatch.setattr(Transaction, "commit_once", store_another_under_our_id)
    message = send_message(buyer, **fields)
    assert [one.body for one in messages_of(thread)][1:] == ["Another", "Once"]
    assert message.seq == 3


def test_a_stored_message_is_not_refused(thread, buyer, fields):
    once = send_message(buyer, **fields)
    thread_item(thread).update([Thread.status.set(LOCKED)])
    assert send_message(buyer, **fields).id == once.id


def test_another_text_with_the_same_client_id_is_refused(thread, buyer, fields):
    once = send_message(buyer, **fields)
    with pytest.raises(Refusal) as refused:
        send_message(buyer, **fields | {"body": "Another"})
    assert refused.value.code == "CLIENT_ID_REUSED"
    edit_message(buyer, thread_id=thread, message_id=once.id, body="Another")
    assert send_message(buyer, **fields).id == once.id
    with pytest.raises(Refusal):
        send_message(buyer, **fields | {"body": "Another"})


def test_a_repeat_of_a_removed_message_is_not_stored_again(thread, buyer, fields):
    once = send_message(buyer, **fields)
    remove_message(buyer, thread_id=thread, message_id=once.id)
    assert send_message(buyer, **fields).id == once.id


def test_two_users_may_use_the_same_client_id(thread, buyer, seller, fields):
    send_message(buyer, **fields)
    send_message(seller, **fields)
    assert len(messages_of(thread)) == 3


def test_a_message_that_is_too_old_to_search_for_is_refused(thread, buyer, fields, monkeypatch):
    monkeypatch.setattr(repeats, "MAX_SEARCHED_MESSAGES", 3)
    monkeypatch.setattr(repeats, "PAGE_SIZE", 2)
    for _ in range(3):
        say(buyer, thread)
    cache.invalidate(thread)
    with pytest.raises(Refusal) as refused:
        send_message(buyer, **fields)
    assert (refused.value.code, refused.value.message) == ("CLIENT_ID_REUSED", repeats.TOO_OLD)
    assert len(messages_of(thread)) == 4
    assert send_message(buyer, **fields | {"after_seq": 2}).seq == 5


# --- Sends that this process knows


def message(seq: int) -> Message:
    return Message("THR#thrd_1", "MSG#1", seq=seq, author_id="usr_1", client_id=f"id-{seq}")


def test_known_sends_are_consecutive_and_bounded():
    sends = RecentSends()
    for seq in range(1, 500):
        sends.record(message(seq))
    known = {"after_seq": 499 - MAX_SENDS, "last_seq": 499}
    assert sends.may_contain("usr_1", "id-499", **known)
    assert not sends.may_contain("usr_1", "id-new", **known)
    assert sends.may_contain("usr_1", "id-new", after_seq=1, last_seq=499)
    # Another process has stored message 500.
    assert sends.may_contain("usr_1", "id-new", after_seq=499, last_seq=500)
    sends.record(message(501))
    assert sends.may_contain("usr_1", "id-new", after_seq=499, last_seq=501)
    assert not sends.may_contain("usr_1", "id-new", after_seq=500, last_seq=501)
