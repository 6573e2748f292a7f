"""What each access pattern may cost, as docs/data-model.md has it; counted on the real engine."""

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
def crowded(thread, buyer, seller) -> str:
    """A thread of fifty people."""
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


def test_thread_metadata_is_one(thread):
    assert cost(thread_item, thread) == ["GetItem"]


def test_opening_is_one_cold_and_warm(thread, buyer, cold):
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


def test_opening_a_thread_of_fifty_is_one_cold_and_warm(crowded, buyer, cold):
    grow(crowded, 120)
    for _ in ("cold", "warm"):
        requests = cost(open_thread, buyer, crowded)
        assert requests == ["Query"]
    opened = open_thread(buyer, crowded)
    assert (len(opened.cached.people), len(opened.messages)) == (50, 50)


def test_a_page_warm_reads_little_more_than_it_shows(buyer, seller):
    thread = start(buyer, seller)
    grow(thread, 300)
    first, second = cost(open_thread, buyer, thread), cost(open_thread, buyer, thread)
    assert second.capacity < first.capacity


def test_a_link_to_a_message_is_one_if_near_and_three_if_far(buyer, seller):
    thread = start(buyer, seller)
    grow(thread, 200)
    messages = messages_of(thread)
    assert cost(open_thread_at, buyer, thread, messages[-3].id) == ["Query"]
    assert cost(open_thread_at, buyer, thread, messages[20].id) == ["Query"] * 3


def test_catching_up_is_one_and_one_more_if_more_than_a_page_was_missed(buyer, seller):
    thread = start(buyer, seller)
    grow(thread, 200)
    messages = messages_of(thread)
    assert cost(catch_up, buyer, thread, after=messages[-1].id) == ["Query"]
    assert cost(catch_up, buyer, thread, after=messages[-20].id) == ["Query"]
    assert cost(catch_up, buyer, thread, after=messages[20].id) == ["Query", "Query"]


def test_one_message_is_one(thread, buyer):
    message = messages_of(thread)[0]
    assert cost(get_message, buyer, thread, message.id) == ["BatchGetItem"]
    assert cost(Message.find, message.pk, message.sk) == ["GetItem"]


def test_the_people_are_one(crowded, buyer):
    assert cost(list_participants, buyer, crowded) == ["Query"]
    assert len(list_participants(buyer, crowded)) == 50


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


def test_the_first_page_costs_the_same_from_fifteen_threads_on_and_little_less_with_ten(seller):
    """All that the page asks for: its rows, and the numbers beside the folders."""
    page = {}
    for size in (10, FIRST_PAGE_SIZE, 300):
        owner = make_person("Fee")
        fill_inbox(owner, seller, size)
        settle()
        page[size] = cost(get_column, owner, "inbox")
        assert page[size] == ["Query"] * 4
    assert page[300].capacity == page[FIRST_PAGE_SIZE].capacity
    assert page[300].capacity <= 1.2 * page[10].capacity


def test_a_folder_of_ten_is_one(buyer, seller):
    fill_inbox(buyer, seller, 10)
    settle()
    assert cost(list_folder, buyer, "inbox") == ["Query"]
    # Complete, with preview and unread: nothing else is asked for to show it.
    for each in list_folder(buyer, "inbox").rows:
        with count_requests() as requests:
            assert (each.unread, each.last_message["text"]) == (0, "Are you free in May?")
        assert requests == []


@pytest.mark.parametrize(("size", "requests"), [(1, 1), (100, 1), (101, 2), (250, 3)])
def test_many_threads_by_id_are_one_a_hundred(thread, buyer, size, requests):
    ids = [thread, *(f"thrd_{ULID()}" for _ in range(size - 1))]
    assert cost(get_rows, buyer, ids) == ["BatchGetItem"] * requests


def test_ones_own_row_is_one(thread, buyer):
    assert cost(get_row, buyer, thread) == ["GetItem"]


# --- Writing


def test_sending_is_one_warm_and_two_cold(thread, buyer, cold):
    assert cost(say, buyer, thread) == SEND
    cold(thread)
    assert cost(say, buyer, thread) == ["Query", *SEND]
    assert cost(say, buyer, thread) == SEND


def test_sending_is_one_after_the_thread_was_opened(thread, buyer, cold):
    cold(thread)
    open_thread(buyer, thread)
    assert cost(say, buyer, thread) == SEND


def test_sending_is_two_after_a_lost_race(thread, buyer, seller, other_process):
    say(buyer, thread)
    other_process.do(other_processes.send, seller, thread, "Faster")
    assert cost(say, buyer, thread) == SEND * 2
    assert cost(say, buyer, thread) == SEND
    other_process.do(archive_thread, seller, thread_id=thread)
    assert cost(say, buyer, thread) == SEND * 2
    assert_consistent(thread)


def test_sending_is_three_after_somebody_came_elsewhere(thread, buyer, stranger, other_process):
    """The one that fails, a look at who is there now, and the one that does not."""
    say(buyer, thread)
    other_process.do(add_friend, buyer, thread_id=thread, user=stranger)
    assert cost(say, buyer, thread) == [*SEND, "Query", *SEND]


def test_sending_to_fifty_is_one_warm_and_two_cold(crowded, buyer, seller, cold):
    open_thread(buyer, crowded)
    assert cost(say, buyer, crowded) == SEND
    cold(crowded)
    assert cost(say, seller, crowded) == ["Query", *SEND]
    assert_consistent(crowded)


def test_a_repeat_is_one(thread, buyer):
    line = {"thread_id": thread, "client_id": str(uuid4()), "body": "Once"}
    send_message(buyer, **line)
    assert cost(send_message, buyer, **line) == SEND


def test_a_start_is_a_look_and_a_write(buyer, seller):
    start_fields = {"client_id": str(uuid4()), "subject": "May", "body": "Hello"}
    asked = cost(start_thread, buyer, seller=seller, **start_fields)
    assert asked == ["BatchGetItem", *SEND]
    # Again: that one has asked already would be the answer, if the marker did not say more.
    again = cost(start_thread, buyer, seller=seller, **start_fields)
    assert again == ["BatchGetItem", "GetItem"]


def test_what_a_message_costs_in_units_does_not_grow_with_its_thread(thread, buyer, seller):
    first = cost(say, buyer, thread)
    for _ in range(10):
        say(seller, thread)
    later = cost(say, buyer, thread)
    assert later.capacity <= first.capacity


# --- Cursors


@pytest.mark.parametrize("up_to", [read_up_to, deliver_up_to])
def test_a_cursor_is_one_at_the_newest_message(thread, buyer, seller, up_to):
    last = say(buyer, thread)
    assert cost(up_to, seller, last) == ["UpdateItem"]
    assert cost(up_to, seller, last) == ["UpdateItem"]


@pytest.mark.parametrize("up_to", [read_up_to, deliver_up_to])
def test_a_cursor_is_two_at_an_earlier_message_and_one_more_after_a_race(
    thread, buyer, seller, up_to, other_process
):
    middle = say(buyer, thread)
    last = say(buyer, thread)
    assert cost(up_to, seller, middle) == ["Query", "UpdateItem"]
    other_process.do(other_processes.send, buyer, thread, "This process does not know of it")
    # The one that fails, the look, the one that does not; and who is there now, to be told.
    assert cost(up_to, seller, last) == ["UpdateItem", "Query", "UpdateItem", "Query"]


def test_a_cursor_in_a_process_that_does_not_know_the_thread_is_one_more(
    thread, buyer, seller, cold
):
    """Whom to tell has to be found out."""
    last = say(buyer, thread)
    cold(thread)
    assert cost(read_up_to, seller, last) == ["UpdateItem", "Query"]


def test_a_cursor_in_a_crowd_is_one(crowded, buyer, seller):
    open_thread(buyer, crowded)
    last = say(buyer, crowded)
    assert cost(read_up_to, seller, last) == ["UpdateItem"]


def test_a_stranger_costs_two(thread, stranger):
    message = messages_of(thread)[0]
    with count_requests() as requests, pytest.raises(Exception, match="THREAD_NOT_FOUND"):
        mark_read(stranger, thread_id=thread, message_id=message.id, seq=1, tally=1)
    assert requests == ["UpdateItem", "Query"]


# --- The rest


@pytest.mark.parametrize(
    ("place", "back"), [(pin_thread, unpin_thread), (archive_thread, restore_thread)]
)
def test_a_place_in_the_inbox_is_a_look_and_an_update(thread, buyer, place, back):
    for act in (place, back):
        assert cost(act, buyer, thread_id=thread) == ["BatchGetItem", "UpdateItem"]
        # It is so already.
        assert cost(act, buyer, thread_id=thread) == ["BatchGetItem"]


def test_people_come_and_go_with_few_requests(thread, buyer, stranger, person):
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
    # What they leave behind is looked for; and, when two are left, what holds between those.
    assert cost(leave_thread, other, thread_id=thread) == ["Query", *SEND]
    assert cost(remove_participant, buyer, thread_id=thread, user_id=stranger.id) == [
        "Query",
        "GetItem",
        *SEND,
    ]


def test_may_these_two_talk_is_one(thread, buyer, seller):
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
