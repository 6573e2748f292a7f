"""Request cost of each access pattern in docs/data-model.md, counted on the real engine."""

from uuid import uuid4

import pytest
from ulid import ULID

from inbox.queries import FIRST_PAGE_SIZE, get_row, list_folder
from inbox.rows import get_column
from tests.indexes import settle
from tests.threads import other_processes
from tests.threads.bulk_data import fill_inbox, grow
from tests.threads.checker import assert_consistent
from tests.threads.conftest import (
    add_friend,
    befriend,
    deliver_up_to,
    make_person,
    messages_of,
    read_newest,
    read_up_to,
    row,
    say,
    start,
    thread_item,
)
from threads import cache
from threads.actions.cursors import mark_read
from threads.actions.folders import archive_thread, pin_thread, restore_thread, unpin_thread
from threads.actions.messages import send_message
from threads.actions.participants import add_participant, leave_thread, remove_participant
from threads.actions.requests import accept_request
from threads.actions.start import start_thread
from threads.dynamodb import keys
from threads.dynamodb.store import RequestCounter, count_requests
from threads.dynamodb.table import put_many
from threads.models import Message, Pair
from threads.models.thread import MAX_PARTICIPANTS
from threads.queries import (
    catch_up,
    get_message,
    get_rows,
    list_newer,
    list_older,
    list_participants,
    open_invitation,
    open_thread,
    open_thread_at,
)

SEND = ["TransactWriteItems"]


def cost(action, *args, **kwargs) -> RequestCounter:
    with count_requests() as requests:
        action(*args, **kwargs)
    return requests


@pytest.fixture
def full_thread(thread, buyer, seller) -> str:
    """A thread with the maximum number of participants."""
    model = row(thread, seller)
    guests = []
    for number in range(MAX_PARTICIPANTS - 2):
        user_id = f"usr_{number:026d}"
        guest = model.copy()
        guest.sk = keys.participant_sk(user_id)
        guest.person = model.person | {"id": user_id, "name": f"Guest {number}"}
        guest.inbox_pk = keys.inbox_pk(user_id, "inbox")
        guest.pending_pk, guest.unread_pk = keys.pending_pk(user_id), keys.unread_pk(user_id)
        guests.append(guest)
    people = [row(thread, buyer), model, *guests]
    for each in people:
        each.others_count = len(people) - 1
    item = thread_item(thread)
    item.participants = [each.user_id for each in people]
    put_many([item, *people])
    cache.invalidate(thread)
    return thread


# --- Opening and paging


def test_thread_metadata_costs_one_request(thread):
    assert cost(thread_item, thread) == ["GetItem"]


def test_opening_costs_one_request_cold_and_warm(thread, buyer, cold):
    cold(thread)
    assert cost(open_thread, buyer, thread) == ["Query"]
    assert cost(open_thread, buyer, thread) == ["Query"]


def test_opening_costs_the_same_with_a_hundred_and_with_three_thousand_messages(buyer, seller):
    small, large = start(buyer, seller), start(buyer, seller)
    grow(small, 100)
    grow(large, 3000)
    for _ in ("cold", "warm"):
        few, many = cost(open_thread, buyer, small), cost(open_thread, buyer, large)
        assert few == many == ["Query"]
        assert few.capacity > 0
        assert many.capacity <= 1.2 * few.capacity
    for page in (list_older, list_newer):
        side = {list_older: "before", list_newer: "after"}[page]
        few = cost(page, buyer, small, **{side: messages_of(small)[60].id})
        many = cost(page, buyer, large, **{side: messages_of(large)[1500].id})
        assert few == many == ["Query", "Query"]
        assert many.capacity <= 1.2 * few.capacity
    few, many = cost(say, seller, small), cost(say, seller, large)
    assert few == many == SEND
    assert many.capacity <= 1.2 * few.capacity


def test_opening_a_full_thread_costs_one_request_cold_and_warm(full_thread, buyer, cold):
    grow(full_thread, 120)
    for _ in ("cold", "warm"):
        requests = cost(open_thread, buyer, full_thread)
        assert requests == ["Query"]
    opened = open_thread(buyer, full_thread)
    assert (len(opened.cached.people), len(opened.messages)) == (50, 50)


def test_a_warm_page_reads_little_more_than_it_shows(buyer, seller):
    thread = start(buyer, seller)
    grow(thread, 300)
    first, second = cost(open_thread, buyer, thread), cost(open_thread, buyer, thread)
    assert second.capacity < first.capacity


def test_a_link_to_a_message_costs_one_request_if_near_and_three_if_far(buyer, seller):
    thread = start(buyer, seller)
    grow(thread, 200)
    messages = messages_of(thread)
    assert cost(open_thread_at, buyer, thread, messages[-3].id) == ["Query"]
    assert cost(open_thread_at, buyer, thread, messages[20].id) == ["Query"] * 3


def test_catching_up_costs_one_request_and_one_more_per_page(buyer, seller):
    thread = start(buyer, seller)
    grow(thread, 200)
    messages = messages_of(thread)
    assert cost(catch_up, buyer, thread, after=messages[-1].id) == ["Query"]
    assert cost(catch_up, buyer, thread, after=messages[-20].id) == ["Query"]
    assert cost(catch_up, buyer, thread, after=messages[20].id) == ["Query", "Query"]


def test_one_message_costs_one_request(thread, buyer):
    message = messages_of(thread)[0]
    assert cost(get_message, buyer, thread, message.id) == ["BatchGetItem"]
    assert cost(Message.find, message.pk, message.sk) == ["GetItem"]


def test_participants_cost_one_request(full_thread, buyer):
    assert cost(list_participants, buyer, full_thread) == ["Query"]
    assert len(list_participants(buyer, full_thread)) == 50


# --- Inbox


def test_a_folder_costs_the_same_with_fifty_and_with_three_hundred_threads(seller):
    few, many = make_person("Fee"), make_person("Mia")
    fill_inbox(few, seller, 50)
    fill_inbox(many, seller, 300)
    settle()
    small, large = cost(list_folder, few, "inbox"), cost(list_folder, many, "inbox")
    assert small == large == ["Query"]
    assert large.capacity <= 1.2 * small.capacity

    page, seen = list_folder(many, "inbox"), []
    while True:
        seen += [each.thread_id for each in page.rows]
        if not page.cursor:
            break
        assert cost(list_folder, many, "inbox", after=page.cursor) == ["Query"]
        page = list_folder(many, "inbox", after=page.cursor)
    assert len(seen) == len(set(seen)) == 300


def test_the_first_inbox_page_costs_the_same_from_sixteen_threads_on(seller):
    """Counts all requests of the page: its rows, the one after them, and the folder counts."""
    page, full = {}, FIRST_PAGE_SIZE + 1
    for size in (10, full, 300):
        owner = make_person("Fee")
        fill_inbox(owner, seller, size)
        settle()
        page[size] = cost(get_column, owner, "inbox")
        assert page[size] == ["Query"] * 4
    assert page[300].capacity == page[full].capacity
    assert page[300].capacity <= 1.2 * page[10].capacity


def test_a_folder_of_ten_costs_one_request(buyer, seller):
    fill_inbox(buyer, seller, 10)
    settle()
    assert cost(list_folder, buyer, "inbox") == ["Query"]
    # A row is complete, with preview and unread count: no other request is needed.
    for each in list_folder(buyer, "inbox").rows:
        with count_requests() as requests:
            assert (each.unread, each.last_message["text"]) == (0, "Are you free in May?")
        assert requests == []


@pytest.mark.parametrize(("size", "requests"), [(1, 1), (100, 1), (101, 2), (250, 3)])
def test_threads_by_id_cost_one_request_per_hundred(thread, buyer, size, requests):
    ids = [thread, *(f"thrd_{ULID()}" for _ in range(size - 1))]
    assert cost(get_rows, buyer, ids) == ["BatchGetItem"] * requests


def test_a_row_costs_one_request(thread, buyer):
    assert cost(get_row, buyer, thread) == ["GetItem"]


# --- Sending


def test_sending_costs_one_request_warm_and_two_cold(thread, buyer, cold):
    assert cost(say, buyer, thread) == SEND
    cold(thread)
    assert cost(say, buyer, thread) == ["Query", *SEND]
    assert cost(say, buyer, thread) == SEND


def test_sending_costs_one_request_after_the_thread_was_opened(thread, buyer, cold):
    cold(thread)
    open_thread(buyer, thread)
    assert cost(say, buyer, thread) == SEND


def test_sending_costs_two_requests_after_a_lost_race(thread, buyer, seller, other_process):
    say(buyer, thread)
    other_process.do(other_processes.send, seller, thread, "Faster")
    assert cost(say, buyer, thread) == SEND * 2
    assert cost(say, buyer, thread) == SEND
    other_process.do(archive_thread, seller, thread_id=thread)
    assert cost(say, buyer, thread) == SEND * 2
    assert_consistent(thread)


def test_sending_costs_three_requests_after_another_process_added_a_participant(
    thread, buyer, stranger, other_process
):
    """A failed write, a query of the current participants, and a successful write."""
    say(buyer, thread)
    other_process.do(add_friend, buyer, thread_id=thread, user=stranger)
    assert cost(say, buyer, thread) == [*SEND, "Query", *SEND]


def test_sending_to_a_full_thread_costs_one_request_warm_and_two_cold(
    full_thread, buyer, seller, cold
):
    open_thread(buyer, full_thread)
    assert cost(say, buyer, full_thread) == SEND
    cold(full_thread)
    assert cost(say, seller, full_thread) == ["Query", *SEND]
    assert_consistent(full_thread)


def test_a_repeated_send_costs_one_request(thread, buyer):
    fields = {"thread_id": thread, "client_id": str(uuid4()), "body": "Once"}
    send_message(buyer, **fields)
    assert cost(send_message, buyer, **fields) == SEND


def test_a_start_costs_a_read_and_a_write(buyer, seller):
    start_fields = {"client_id": str(uuid4()), "subject": "May", "body": "Hello"}
    first = cost(start_thread, buyer, seller=seller, **start_fields)
    assert first == ["BatchGetItem", *SEND]
    # A repeat reads the marker, because a pending request alone would be refused.
    again = cost(start_thread, buyer, seller=seller, **start_fields)
    assert again == ["BatchGetItem", "GetItem"]


def test_write_capacity_of_a_message_does_not_grow_with_its_thread(thread, buyer, seller):
    first = cost(say, buyer, thread)
    for _ in range(10):
        say(seller, thread)
    later = cost(say, buyer, thread)
    assert later.capacity <= first.capacity


# --- Cursors


@pytest.mark.parametrize("up_to", [read_up_to, deliver_up_to])
def test_a_cursor_at_the_newest_message_costs_one_request(thread, buyer, seller, up_to):
    last = say(buyer, thread)
    assert cost(up_to, seller, last) == ["UpdateItem"]
    assert cost(up_to, seller, last) == ["UpdateItem"]


@pytest.mark.parametrize("up_to", [read_up_to, deliver_up_to])
def test_a_cursor_at_an_earlier_message_costs_two_requests_and_more_after_a_race(
    thread, buyer, seller, up_to, other_process
):
    middle = say(buyer, thread)
    last = say(buyer, thread)
    assert cost(up_to, seller, middle) == ["Query", "UpdateItem"]
    other_process.do(other_processes.send, buyer, thread, "This process does not know of it")
    # A failed update, a query, a successful update, and a query of the current participants.
    assert cost(up_to, seller, last) == ["UpdateItem", "Query", "UpdateItem", "Query"]


def test_a_cursor_without_a_cached_thread_costs_one_more_request(thread, buyer, seller, cold):
    """The subscribers of the event have to be read first."""
    last = say(buyer, thread)
    cold(thread)
    assert cost(read_up_to, seller, last) == ["UpdateItem", "Query"]


def test_a_cursor_in_a_full_thread_costs_one_request(full_thread, buyer, seller):
    open_thread(buyer, full_thread)
    last = say(buyer, full_thread)
    assert cost(read_up_to, seller, last) == ["UpdateItem"]


def test_a_cursor_of_a_stranger_costs_two_requests(thread, stranger):
    message = messages_of(thread)[0]
    with count_requests() as requests, pytest.raises(Exception, match="THREAD_NOT_FOUND"):
        mark_read(stranger, thread_id=thread, message_id=message.id, seq=1, tally=1)
    assert requests == ["UpdateItem", "Query"]


# --- Other actions


@pytest.mark.parametrize(
    ("place", "back"), [(pin_thread, unpin_thread), (archive_thread, restore_thread)]
)
def test_a_change_of_folder_or_pin_costs_a_read_and_an_update(thread, buyer, place, back):
    for act in (place, back):
        assert cost(act, buyer, thread_id=thread) == ["BatchGetItem", "UpdateItem"]
        # The row is already in that place.
        assert cost(act, buyer, thread_id=thread) == ["BatchGetItem"]


def test_adding_and_removing_participants_costs_few_requests(thread, buyer, stranger, person):
    other = person("Olga")
    invited = person("Ida")
    for friend in (stranger, other):
        befriend(buyer, friend)
        added = cost(add_participant, buyer, thread_id=thread, user=friend)
        assert added == ["BatchGetItem", *SEND]
    inviting = cost(add_participant, buyer, thread_id=thread, user=invited)
    assert inviting == ["BatchGetItem", *SEND]
    assert cost(open_invitation, invited, thread) == ["Query"]
    assert cost(accept_request, invited, thread_id=thread) == ["Query", "BatchGetItem", *SEND]
    assert cost(leave_thread, invited, thread_id=thread) == ["Query", *SEND]
    # Leaving deletes items that have to be queried; with two left, their pair is read too.
    assert cost(leave_thread, other, thread_id=thread) == ["Query", *SEND]
    assert cost(remove_participant, buyer, thread_id=thread, user_id=stranger.id) == [
        "Query",
        "GetItem",
        *SEND,
    ]


def test_the_state_of_a_pair_costs_one_request(thread, buyer, seller):
    assert cost(Pair.find, keys.pair_pk(buyer.id, seller.id), keys.STATE) == ["GetItem"]


def test_no_read_is_a_scan(thread, buyer, seller, stranger):
    with count_requests() as requests:
        for _ in range(2):
            say(buyer, thread)
            open_thread(seller, thread)
            read_newest(seller, thread)
            list_folder(seller, "inbox")
            list_participants(seller, thread)
            add_friend(buyer, thread_id=thread, user=stranger)
            leave_thread(stranger, thread_id=thread)
            cache.invalidate(thread)
    assert "Scan" not in requests
