"""Starting a thread: everything is stored, or nothing."""

import threading
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from core.refusals import Refusal
from inbox.queries import list_folder
from tests.threads.checker import assert_consistent
from tests.threads.conftest import ask, befriend, messages_of, row, say, start, thread_item
from threads.actions.blocks import block_person, unblock_person
from threads.dynamodb import keys
from threads.dynamodb.store import count_requests
from threads.dynamodb.table import Item, query
from threads.models import ArchiveDue, Pair, PairThread, SentMarker, StartMarker

pytestmark = pytest.mark.indexes


def threads_of(one, other) -> list[str]:
    where = Item.sk.startswith(keys.PAIR_THREADS)
    page = query(keys.pair_pk(one.id, other.id), where, limit=100)
    return [each.thread_id for each in page.of(PairThread)]


def test_every_item_is_stored(buyer, seller):
    client_id = str(uuid4())
    thread = start(buyer, seller, "Hello **Sam**", client_id=client_id, city="Lisbon")

    item = thread_item(thread)
    assert (item.kind, item.subject, item.city) == ("inquiry", "A wedding in May", "Lisbon")
    assert (item.buyer_id, item.seller_id) == (buyer.id, seller.id)
    assert item.participants == [buyer.id, seller.id]
    assert (item.roster_version, item.rev, item.status) == (1, 0, "open")
    assert (item.last_seq, item.last_tally, item.waiting_for) == (1, 1, seller.id)
    (message,) = messages_of(thread)
    assert (message.body, message.author_id) == ("Hello **Sam**", buyer.id)
    assert message.receiver_ids == [seller.id]
    assert item.last_message == {"author": buyer.id, "type": "text", "text": "Hello Sam"}
    pair = Pair.find(keys.pair_pk(buyer.id, seller.id), keys.STATE)
    assert (pair.accepted, pair.blocked_by) == (True, None)
    assert threads_of(buyer, seller) == [thread]
    marker = StartMarker.find(keys.user_pk(buyer.id), keys.start_marker_sk(client_id))
    assert marker.thread_id == thread
    assert (
        SentMarker.find(message.pk, keys.sent_marker_sk(buyer.id, client_id)).message_id
        == message.id
    )
    assert ArchiveDue.find(keys.archive_pk(message.created_at[:10], thread), message.pk)
    assert_consistent(thread)


def test_both_sides_have_the_thread_in_their_inbox(buyer, seller):
    thread = start(buyer, seller)
    (mine,) = list_folder(buyer, "inbox").rows
    (theirs,) = list_folder(seller, "inbox").rows

    assert mine.thread_id == theirs.thread_id == thread
    assert (mine.unread, theirs.unread) == (0, 1)
    assert (mine.other_side["name"], theirs.other_side["name"]) == ("Sam", "Bea")
    assert (mine.role, theirs.role) == ("buyer", "seller")
    assert row(thread, seller).first_undelivered_seq == 1
    assert row(thread, buyer).pending_pk is None


def test_a_start_is_published_to_both_sides(buyer, seller, delivered):
    thread = start(buyer, seller)
    for person in (buyer, seller):
        (sent,) = delivered.to(person, "message.sent")
        assert (sent["thread"], sent["seq"]) == (thread, 1)
    assert delivered.to(seller, "inbox.changed")[0]["unread"] == 1


def test_a_start_costs_a_read_and_a_write_and_the_next_message_one_write(buyer, seller):
    befriend(buyer, seller)
    with count_requests() as requests:
        say(buyer, ask(buyer, seller))
    assert requests == ["BatchGetItem", "TransactWriteItems", "TransactWriteItems"]


def refused(*args, **kwargs) -> str:
    with pytest.raises(Refusal) as refusal:
        start(*args, **kwargs)
    return refusal.value.code


def test_a_thread_with_oneself_is_refused(buyer, delivered):
    assert refused(buyer, buyer) == "ACTION_FORBIDDEN"
    assert list_folder(buyer, "inbox").rows == []
    assert not delivered


def test_neither_side_of_a_block_can_start(buyer, seller, delivered):
    block_person(seller, blocked=buyer)
    assert refused(buyer, seller) == "MSG_BLOCKED_BY_USER"
    assert refused(seller, buyer) == "MSG_BLOCKED_BY_USER"
    assert threads_of(buyer, seller) == []
    assert list_folder(seller, "inbox").rows == []
    assert not delivered

    unblock_person(seller, blocked=buyer)
    thread = start(buyer, seller)
    assert threads_of(buyer, seller) == [thread]


def test_a_repeat_of_a_stored_start_is_not_refused_after_a_block(buyer, seller):
    client_id = str(uuid4())
    thread = start(buyer, seller, client_id=client_id)
    block_person(seller, blocked=buyer)
    assert start(buyer, seller, client_id=client_id) == thread


@pytest.mark.parametrize(("body", "code"), [(" ", "MSG_EMPTY"), ("x" * 8001, "MSG_TOO_LONG")])
def test_empty_and_too_long_messages_are_refused(buyer, seller, body, code):
    assert refused(buyer, seller, body) == code
    assert threads_of(buyer, seller) == []


def test_a_start_keeps_the_state_of_the_pair(buyer, seller):
    start(buyer, seller)
    start(seller, buyer)
    assert len(threads_of(buyer, seller)) == 2
    assert Pair.find(keys.pair_pk(seller.id, buyer.id), keys.STATE).accepted


def test_a_repeated_start_publishes_nothing(buyer, seller, delivered):
    client_id = str(uuid4())
    thread = start(buyer, seller, client_id=client_id)
    delivered.clear()
    assert start(buyer, seller, client_id=client_id) == thread
    assert not delivered
    assert threads_of(buyer, seller) == [thread]


@pytest.mark.parametrize("other", ["body", "subject", "city"])
def test_a_repeat_with_other_fields_is_refused(buyer, seller, other):
    fields = {"client_id": str(uuid4()), "city": "Lisbon"}
    start(buyer, seller, **fields)
    assert refused(buyer, seller, **{**fields, other: "Another"}) == "CLIENT_ID_REUSED"


def test_a_repeat_with_another_user_is_refused(buyer, seller, stranger):
    client_id = str(uuid4())
    start(buyer, seller, client_id=client_id)
    assert refused(buyer, stranger, client_id=client_id) == "CLIENT_ID_REUSED"


def test_ten_concurrent_starts_create_one_thread(buyer, seller):
    client_id = str(uuid4())
    barrier = threading.Barrier(10)

    def start_once(_: int) -> str:
        barrier.wait()
        return start(buyer, seller, client_id=client_id)

    with ThreadPoolExecutor(10) as pool:
        (thread,) = set(pool.map(start_once, range(10)))
    assert threads_of(buyer, seller) == [thread]
    assert_consistent(thread)


def test_a_block_made_during_a_start_refuses_the_thread(buyer, seller, faults):
    faults.run_before("TransactWriteItems", lambda: block_person(seller, blocked=buyer))
    assert refused(buyer, seller) == "MSG_BLOCKED_BY_USER"
    assert threads_of(buyer, seller) == []
