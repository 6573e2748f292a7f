import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
import time_machine

from core.refusals import Refusal
from tests.threads.conftest import messages_of, row, say, start, thread_item
from threads.actions.messages import send_message
from threads.dynamodb import keys
from threads.dynamodb.change import Change
from threads.dynamodb.store import count_requests
from threads.dynamodb.transactions import update
from threads.models import ArchiveDue, Message, Participant, SentMarker, Thread
from threads.models.thread import LOCKED


def test_a_message_is_stored_with_its_thread_rows_and_marker(thread, buyer, seller):
    sent = say(seller, thread, "Yes, **all** of it")

    stored = Message.find(sent.pk, sent.sk)
    assert (stored.seq, stored.tally, stored.body) == (2, 2, "Yes, **all** of it")
    assert stored.receiver_ids == [buyer.id]
    item = thread_item(thread)
    assert (item.last_seq, item.last_tally, item.last_message_id) == (2, 2, sent.id)
    assert item.last_message == {"author": seller.id, "type": "text", "text": "Yes, all of it"}
    assert item.waiting_for == buyer.id
    for person in (buyer, seller):
        assert row(thread, person).last_seq == 2
        assert row(thread, person).last_message_at == sent.created_at
        assert row(thread, person).position == f"{sent.created_at}#{thread}"
    assert row(thread, buyer).inbox_sk == f"{sent.created_at}#{thread}"
    marker = SentMarker.find(sent.pk, keys.sent_marker_sk(seller.id, sent.client_id))
    assert (marker.message_id, marker.seq) == (sent.id, 2)


def test_a_message_is_unread_and_undelivered_for_the_recipient_only(thread, buyer, seller):
    first = say(buyer, thread)
    say(buyer, thread)

    theirs, mine = row(thread, seller), row(thread, buyer)
    assert theirs.unread == 3
    assert theirs.unread_pk == keys.unread_pk(seller.id)
    # One index entry for all undelivered messages, which names the first.
    assert theirs.first_undelivered_seq == 1
    assert theirs.pending_pk == keys.pending_pk(seller.id)
    assert mine.unread == 0
    assert mine.unread_pk is None
    assert mine.pending_pk is None
    assert mine.last_read_seq == mine.delivered_seq == first.seq + 1


def test_own_messages_are_not_unread_after_unseen_ones(thread, buyer, seller):
    say(seller, thread)
    say(seller, thread)
    say(buyer, thread, seen_seq=1)

    mine = row(thread, buyer)
    assert (mine.last_read_seq, mine.own_since_read) == (1, 1)
    assert mine.unread == 2
    assert mine.unread_pk is not None


def test_sending_marks_the_seen_messages_as_read(thread, buyer, seller):
    last = say(seller, thread)
    say(buyer, thread, seen_seq=last.seq)

    mine = row(thread, buyer)
    assert mine.unread == 0
    assert mine.unread_pk is None
    assert mine.pending_pk is None


def test_a_message_is_published_to_both_sides(thread, buyer, seller, delivered):
    sent = say(buyer, thread, "Hello *there*")

    for person in (buyer, seller):
        (event,) = delivered.to(person, "message.sent")
        assert event["message"] == sent.id
        assert "<em>there</em>" in event["html"]
    assert delivered.to(seller, "inbox.changed")[0]["unread"] == 2
    assert delivered.to(buyer, "inbox.changed")[0]["unread"] == 0


def test_a_stranger_is_refused_like_for_a_missing_thread(thread, stranger, delivered, cold):
    missing = "thrd_01JZZZZZZZZZZZZZZZZZZZZZZZ"
    with count_requests() as requests_of_stranger, pytest.raises(Refusal) as theirs:
        say(stranger, thread)
    with count_requests() as requests_of_missing, pytest.raises(Refusal) as not_found:
        say(stranger, missing)

    assert theirs.value.code == not_found.value.code == "THREAD_NOT_FOUND"
    assert theirs.value.message == not_found.value.message
    assert requests_of_stranger == requests_of_missing
    assert len(messages_of(thread)) == 1
    assert not delivered


@pytest.mark.parametrize(
    ("body", "code"),
    [("", "MSG_EMPTY"), (" \n\t ", "MSG_EMPTY"), ("x" * 8001, "MSG_TOO_LONG")],
)
def test_empty_and_too_long_messages_are_refused(thread, buyer, delivered, body, code):
    with pytest.raises(Refusal) as refused:
        send_message(buyer, thread_id=thread, client_id=str(uuid4()), body=body)
    assert refused.value.code == code
    assert len(messages_of(thread)) == 1
    assert not delivered


def test_8000_characters_of_any_script_are_accepted(thread, buyer):
    body = "写" * 8000
    assert Message.find(*_key(say(buyer, thread, body))).body == body


def _key(message: Message) -> tuple[str, str]:
    return message.pk, message.sk


def test_a_locked_thread_refuses_with_a_stale_cache(thread, buyer, delivered):
    thread_item(thread).update([Thread.status.set(LOCKED)])
    with pytest.raises(Refusal) as refused:
        say(buyer, thread)
    assert refused.value.code == "THREAD_LOCKED"
    assert len(messages_of(thread)) == 1


def test_sending_works_again_after_another_process_unlocked_the_thread(thread, buyer):
    thread_item(thread).update([Thread.status.set(LOCKED)])
    with pytest.raises(Refusal):
        say(buyer, thread)
    thread_item(thread).update([Thread.status.set("open")])
    assert say(buyer, thread).seq == 2


def test_a_soft_block_refuses_every_participant(thread, buyer):
    block = Change(set={"soft_block": {"reason": "safety", "case": "case_1"}})
    update(thread_item(thread), block, None)
    with pytest.raises(Refusal) as refused:
        say(buyer, thread)
    assert refused.value.code == "SAFETY_SOFT_BLOCK"


def test_a_cool_down_has_a_retry_time(thread, buyer):
    until = keys.iso(datetime.now(UTC) + timedelta(seconds=40))
    row(thread, buyer).update([Participant.blocked_until.set(until)])
    with pytest.raises(Refusal) as refused:
        say(buyer, thread)
    assert refused.value.code == "RATE_LIMITED"
    assert 35 <= refused.value.retry_after <= 41


def test_a_message_on_another_day_is_due_for_the_archive(thread, buyer):
    with time_machine.travel(datetime.now(UTC) + timedelta(days=1)):
        sent = say(buyer, thread)
    day = sent.created_at[:10]
    assert ArchiveDue.find(keys.archive_pk(day, thread), keys.thread_pk(thread))


def test_a_message_restores_an_archived_row(thread, buyer, seller):
    from threads.actions.folders import archive_thread

    archive_thread(seller, thread_id=thread)
    assert row(thread, seller).inbox_pk.endswith("#archived")
    say(buyer, thread)
    theirs = row(thread, seller)
    assert theirs.folder == "inbox"
    assert theirs.inbox_pk == keys.inbox_pk(seller.id, "inbox")
    assert theirs.unread_pk == keys.unread_pk(seller.id)


# --- Idempotency


def test_the_same_client_id_is_stored_once_with_the_same_answer(thread, buyer, delivered):
    client_id = str(uuid4())
    once = send_message(buyer, thread_id=thread, client_id=client_id, body="Once")
    published = len(delivered)
    again = send_message(buyer, thread_id=thread, client_id=client_id, body="Once")

    assert (again.id, again.seq, again.created_at) == (once.id, once.seq, once.created_at)
    assert len(messages_of(thread)) == 2
    assert len(delivered) == published


def test_ten_concurrent_sends_with_one_client_id_are_stored_once(thread, buyer):
    client_id = str(uuid4())
    barrier = threading.Barrier(10)

    def send(_: int) -> str:
        barrier.wait()
        return send_message(buyer, thread_id=thread, client_id=client_id, body="Once").id

    with ThreadPoolExecutor(10) as pool:
        ids = set(pool.map(send, range(10)))
    assert len(ids) == 1
    assert [m.seq for m in messages_of(thread)] == [1, 2]


def test_a_client_id_with_another_text_is_refused_and_stores_nothing(thread, buyer):
    client_id = str(uuid4())
    send_message(buyer, thread_id=thread, client_id=client_id, body="One")
    with pytest.raises(Refusal) as refused:
        send_message(buyer, thread_id=thread, client_id=client_id, body="Another")
    assert refused.value.code == "CLIENT_ID_REUSED"
    assert len(messages_of(thread)) == 2


def test_two_users_may_use_the_same_client_id(thread, buyer, seller):
    client_id = str(uuid4())
    send_message(buyer, thread_id=thread, client_id=client_id, body="Mine")
    send_message(seller, thread_id=thread, client_id=client_id, body="Mine")
    assert len(messages_of(thread)) == 3


def test_a_repeat_of_a_stored_message_is_not_refused(thread, buyer):
    client_id = str(uuid4())
    once = send_message(buyer, thread_id=thread, client_id=client_id, body="Before the lock")
    thread_item(thread).update([Thread.status.set(LOCKED)])
    again = send_message(buyer, thread_id=thread, client_id=client_id, body="Before the lock")
    assert again.id == once.id


def test_an_expired_marker_is_ignored(thread, buyer):
    client_id = str(uuid4())
    send_message(buyer, thread_id=thread, client_id=client_id, body="Long ago")
    with time_machine.travel(datetime.now(UTC) + timedelta(days=31)):
        send_message(buyer, thread_id=thread, client_id=client_id, body="Today")
    assert [m.body for m in messages_of(thread)][-2:] == ["Long ago", "Today"]


def test_a_repeated_start_is_stored_once(buyer, seller):
    client_id = str(uuid4())
    once = start(buyer, seller, client_id=client_id)
    assert start(buyer, seller, client_id=client_id) == once
    with pytest.raises(Refusal) as refused:
        start(buyer, seller, body="Something else", client_id=client_id)
    assert refused.value.code == "CLIENT_ID_REUSED"
