"""Concurrent writers: threads of one process, and processes with separate caches.

The invariants are in checker.py.
"""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from uuid import uuid4

import pytest
import time_machine

from core.refusals import Refusal
from tests.threads import other_processes
from tests.threads.checker import assert_consistent
from tests.threads.conftest import (
    add_friend,
    deliver_newest,
    make_person,
    messages_of,
    read_newest,
    row,
    say,
    start,
    thread_item,
)
from tests.wait import wait_until
from threads import cache
from threads.actions.drafts import find_draft, save_draft
from threads.actions.folders import archive_thread, pin_thread, restore_thread, unpin_thread
from threads.actions.messages import send_message
from threads.actions.participants import leave_thread, remove_participant
from threads.queries import open_thread

pytestmark = pytest.mark.slow


def start_group(buyer, seller, size: int) -> tuple[str, list]:
    thread = start(buyer, seller)
    people = [buyer, seller]
    for number in range(size - 2):
        people.append(make_person(f"Guest{number}"))
        add_friend(buyer, thread_id=thread, user=people[-1])
    return thread, people


def seqs_of(thread: str) -> list[int]:
    return [message.seq for message in messages_of(thread)]


# --- Order


def test_twenty_senders_in_one_process_end_in_one_order(buyer, seller):
    thread, people = start_group(buyer, seller, 20)
    before = thread_item(thread).last_seq

    sent = other_processes.send_from_threads(people, thread, 2)

    assert sorted(seq for _, seq in sent) == list(range(before + 1, before + 41))
    assert_consistent(thread)


def test_twenty_senders_in_three_processes_end_in_one_order(
    buyer, seller, other_process, third_process
):
    """Each user has several sockets, like a user with several devices."""
    thread, people = start_group(buyer, seller, 4)
    before = thread_item(thread).last_seq
    senders = people * 5

    at = time.time() + 0.2
    theirs = [
        other_process.begin(other_processes.send_from_threads, senders[:7], thread, 3, at=at),
        third_process.begin(other_processes.send_from_threads, senders[7:14], thread, 3, at=at),
    ]
    time.sleep(max(0, at - time.time()))
    sent = other_processes.send_from_threads(senders[14:], thread, 3)
    for outcome in theirs:
        sent += outcome.result(120).value

    assert sorted(seq for _, seq in sent) == list(range(before + 1, before + 61))
    assert [m.id for m in messages_of(thread)][before:] == [
        message_id for message_id, _ in sorted(sent, key=lambda each: each[1])
    ]
    assert_consistent(thread)


def test_the_write_lock_is_granted_in_order_of_arrival(thread):
    order = []
    started = [threading.Event() for _ in range(8)]

    def write(number: int) -> None:
        started[number].set()
        with cache.write_lock(thread):
            order.append(number)

    with ThreadPoolExecutor(8) as pool, cache.write_lock(thread):
        for number in range(8):
            pool.submit(write, number)
            started[number].wait()
            wait_until(
                lambda queued=number + 2: len(cache._writers[thread]) == queued, 5, interval=0.001
            )
    assert order == list(range(8))
    assert thread not in cache._writers


def test_waiting_for_the_write_lock_times_out(thread, buyer):
    with cache.write_lock(thread), ThreadPoolExecutor(1) as pool:

        def write() -> None:
            with cache.write_lock(thread, timeout=0.05):
                pass

        with pytest.raises(Refusal) as refused:
            pool.submit(write).result()
    assert refused.value.code == "TRY_AGAIN"
    assert say(buyer, thread).seq == 2


def test_sequential_sends_of_two_processes_keep_their_order(thread, buyer, seller, other_process):
    sent = [say(buyer, thread, "first").id]
    for number in range(3):
        sent.append(
            other_process.do(other_processes.send, seller, thread, f"theirs {number}").value[0]
        )
        sent.append(say(buyer, thread, f"mine {number}").id)

    assert [message.id for message in messages_of(thread)][1:] == sent
    assert_consistent(thread)


def test_a_wrong_clock_does_not_change_the_order(
    thread, buyer, seller, other_process, third_process
):
    sent = []
    for _ in range(2):
        sent.append(
            other_process.do(other_processes.send, seller, thread, "A minute ahead", ahead=60).value
        )
        sent.append(
            third_process.do(
                other_processes.send, seller, thread, "A minute behind", ahead=-60
            ).value
        )
        message = say(buyer, thread, "In time")
        sent.append((message.id, message.seq))

    assert [seq for _, seq in sent] == [2, 3, 4, 5, 6, 7]
    assert [message_id for message_id, _ in sent] == sorted(message_id for message_id, _ in sent)
    assert_consistent(thread)


def test_concurrent_wrong_clocks_do_not_change_the_order(
    thread, buyer, seller, other_process, third_process
):
    at = time.time() + 0.2
    ahead = other_process.begin(other_processes.send_many, seller, thread, 10, at=at, ahead=60)
    behind = third_process.begin(other_processes.send_many, buyer, thread, 10, at=at, ahead=-60)
    other_processes.send_many(buyer, thread, 10)
    assert len(ahead.result(120).value) == len(behind.result(120).value) == 10

    assert seqs_of(thread) == list(range(1, 32))
    assert_consistent(thread)


def test_messages_of_one_millisecond_keep_their_order(thread, buyer, seller):
    with time_machine.travel(datetime.now(UTC), tick=False):
        sent = [say(person, thread).id for person in (buyer, seller, buyer, buyer, seller)]

    assert sent == sorted(sent)
    assert [message.id for message in messages_of(thread)][1:] == sent
    assert_consistent(thread)


def test_two_processes_in_the_same_millisecond_do_not_overwrite_a_message(thread, buyer, seller):
    """Both processes would choose the same id: the last one plus one."""
    with time_machine.travel(datetime.now(UTC), tick=False):
        say(buyer, thread)
        stale = cache.get(thread).copy()
        say(buyer, thread, "Written by the one")
        cache.invalidate(thread)
        cache.put(stale)
        say(seller, thread, "Written by the other, who does not know")

    assert [m.body for m in messages_of(thread)][-2:] == [
        "Written by the one",
        "Written by the other, who does not know",
    ]
    assert_consistent(thread)


# --- Idempotency


def test_the_same_client_id_from_three_processes_is_stored_and_published_once(
    thread, buyer, seller, other_process, third_process, delivered
):
    client_id = str(uuid4())
    for process in (other_process, third_process):
        process.do(other_processes.send, buyer, thread, "So that it knows the thread")
    delivered.clear()

    at = time.time() + 0.2
    theirs = [
        process.begin(other_processes.send_same, [buyer] * 4, thread, client_id, at=at)
        for process in (other_process, third_process)
    ]
    time.sleep(max(0, at - time.time()))
    answers = other_processes.send_same([buyer] * 2, thread, client_id)
    published = list(delivered)
    for outcome in theirs:
        answers += outcome.result(120).value
        published += outcome.result().published

    assert len(answers) == 10
    assert len(set(answers)) == 1
    assert seqs_of(thread) == [1, 2, 3, 4]
    receivers = [user_id for user_id, event in published if event["type"] == "message.sent"]
    assert sorted(receivers) == sorted([buyer.id, seller.id])
    assert_consistent(thread)


# --- Changes of participants


def test_a_participant_removed_by_another_process_is_not_written_back(
    thread, buyer, seller, stranger, other_process, delivered
):
    add_friend(buyer, thread_id=thread, user=stranger)
    other_process.do(remove_participant, buyer, thread_id=thread, user_id=stranger.id)
    delivered.clear()

    sent = say(buyer, thread, "Not for them")

    assert row(thread, stranger) is None
    assert not delivered.to(stranger)
    assert sent.receiver_ids == [seller.id]
    assert_consistent(thread)


def test_a_participant_added_by_another_process_receives_messages(
    thread, buyer, seller, stranger, other_process, delivered
):
    say(buyer, thread)
    other_process.do(add_friend, buyer, thread_id=thread, user=stranger)

    sent = say(seller, thread, "For all three")

    assert row(thread, stranger).unread == 1
    assert row(thread, stranger).last_seq == sent.seq
    assert [event["seq"] for event in delivered.to(stranger, "message.sent")] == [sent.seq]
    assert_consistent(thread)


def test_a_cursor_is_not_published_to_a_participant_removed_by_another_process(
    thread, buyer, seller, stranger, other_process, delivered
):
    add_friend(buyer, thread_id=thread, user=stranger)
    other_process.do(remove_participant, buyer, thread_id=thread, user_id=stranger.id)
    delivered.clear()

    read_newest(seller, thread)

    assert delivered.to(buyer, "cursor.moved")
    assert not delivered.to(stranger)


def test_a_cursor_is_published_to_a_participant_added_by_another_process(
    thread, buyer, seller, stranger, other_process, delivered
):
    say(buyer, thread)
    other_process.do(add_friend, buyer, thread_id=thread, user=stranger)

    deliver_newest(seller, thread)

    assert delivered.to(stranger, "cursor.moved")


def test_a_participant_removed_by_another_process_can_be_added_again(
    thread, buyer, stranger, other_process
):
    add_friend(buyer, thread_id=thread, user=stranger)
    other_process.do(remove_participant, buyer, thread_id=thread, user_id=stranger.id)

    add_friend(buyer, thread_id=thread, user=stranger)

    assert row(thread, stranger) is not None
    assert_consistent(thread)


def test_a_participant_added_by_another_process_can_be_removed(
    thread, buyer, stranger, other_process
):
    say(buyer, thread)
    other_process.do(add_friend, buyer, thread_id=thread, user=stranger)

    remove_participant(buyer, thread_id=thread, user_id=stranger.id)

    assert row(thread, stranger) is None
    assert_consistent(thread)


def test_a_participant_added_by_another_process_can_use_the_thread(
    thread, buyer, seller, stranger, other_process
):
    say(buyer, thread)
    other_process.do(add_friend, buyer, thread_id=thread, user=stranger)

    save_draft(stranger, thread_id=thread, text="Not yet", version=0)
    pin_thread(stranger, thread_id=thread)
    read_newest(stranger, thread)
    assert say(stranger, thread).seq == 4
    assert find_draft(stranger, thread).text == "Not yet"
    assert_consistent(thread)


def test_a_participant_removed_by_another_process_cannot_send(
    thread, buyer, stranger, other_process
):
    add_friend(buyer, thread_id=thread, user=stranger)
    other_process.do(other_processes.send, stranger, thread, "Still in")
    remove_participant(buyer, thread_id=thread, user_id=stranger.id)

    assert (
        other_process.do(other_processes.send, stranger, thread, "Not any more").value
        == "THREAD_NOT_FOUND"
    )
    assert_consistent(thread)


def test_participants_change_during_concurrent_sends(
    thread, buyer, seller, other_process, third_process
):
    guests = [make_person(f"Guest{number}") for number in range(4)]
    at = time.time() + 0.2
    writing = [
        other_process.begin(other_processes.send_many, buyer, thread, 15, at=at),
        third_process.begin(other_processes.send_many, seller, thread, 15, at=at),
    ]
    time.sleep(max(0, at - time.time()))
    for guest in guests:
        add_friend(seller, thread_id=thread, user=guest)
    remove_participant(buyer, thread_id=thread, user_id=guests[0].id)
    leave_thread(guests[1], thread_id=thread)
    for outcome in writing:
        assert len(outcome.result(120).value) == 15

    assert [row(thread, guest) is not None for guest in guests] == [False, False, True, True]
    assert thread_item(thread).roster_version == 7
    assert_consistent(thread)


# --- Folders, pins and cursors during sends


def test_pins_and_folders_are_correct_during_concurrent_sends(thread, buyer, seller, other_process):
    writing = other_process.begin(other_processes.send_many, seller, thread, 40)
    while not writing.done():
        for place in (pin_thread, archive_thread, unpin_thread, restore_thread):
            place(buyer, thread_id=thread)
    pin_thread(buyer, thread_id=thread)

    assert row(thread, buyer).pinned
    assert_consistent(thread)
    assert len(writing.result().value) == 40


def test_a_stale_cache_handles_a_row_archived_by_another_process(
    thread, buyer, seller, other_process
):
    say(seller, thread)
    other_process.do(archive_thread, buyer, thread_id=thread)
    assert row(thread, buyer).folder == "archived"
    other_process.do(pin_thread, buyer, thread_id=thread)

    say(seller, thread, "Brings it back")

    assert (row(thread, buyer).folder, row(thread, buyer).pinned) == ("inbox", True)
    assert_consistent(thread)


def test_unread_stays_exact_during_concurrent_reads_and_sends(thread, buyer, seller, other_process):
    writing = other_process.begin(other_processes.send_many, seller, thread, 40)
    while not writing.done():
        read_newest(buyer, thread)
        say(buyer, thread)
        deliver_newest(buyer, thread)
    assert_consistent(thread)

    read_newest(buyer, thread)
    assert row(thread, buyer).unread == 0
    assert row(thread, buyer).unread_pk is None
    assert_consistent(thread)


def test_unread_stays_exact_when_two_devices_read_on_two_servers(
    thread, buyer, seller, other_process, third_process
):
    at = time.time() + 0.2
    reading = [
        process.begin(other_processes.read_many, buyer, thread, 25, at=at)
        for process in (other_process, third_process)
    ]
    time.sleep(max(0, at - time.time()))
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda user: other_processes.send_many(user, thread, 20), (buyer, seller)))
    for outcome in reading:
        outcome.result(120)

    assert_consistent(thread)


def test_a_send_does_not_change_an_opened_page(thread, buyer, seller):
    """A page does not share objects with the cache: a send must not change it."""
    opened = open_thread(buyer, thread)
    say(seller, thread, "After it was read")

    assert opened.cached.thread.last_seq == opened.messages[-1].seq == 1
    assert opened.me.last_seq == 1
    assert opened.cached.thread.last_message["text"] == "Are you free in May?"


def test_a_message_is_published_to_the_participants_at_its_commit(
    thread, buyer, seller, stranger, delivered, monkeypatch
):
    """A user is added between the commit and the broadcast."""
    from threads import events

    render = events.render_message

    def render_after_adding(message, cached_thread):
        monkeypatch.setattr(events, "render_message", render)
        add_friend(buyer, thread_id=thread, user=stranger)
        return render(message, cached_thread)

    monkeypatch.setattr(events, "render_message", render_after_adding)
    sent = say(seller, thread, "Before they came")

    assert sent.seq == 2
    assert [event["seq"] for event in delivered.to(stranger, "message.sent")] == [3]
    assert [event["seq"] for event in delivered.to(buyer, "message.sent")] == [3, 2]


@pytest.mark.parametrize("read_first", [True, False])
def test_two_threads_of_one_process_send_and_read(thread, buyer, seller, delivered, read_first):
    with ThreadPoolExecutor(3) as pool:
        jobs = [
            pool.submit(other_processes.send_many, user, thread, 15) for user in (buyer, seller)
        ]
        if read_first:
            jobs.append(pool.submit(other_processes.read_many, buyer, thread, 15))
        for job in jobs:
            job.result()
    assert_consistent(thread)
    # The cache equals the table, since no other process wrote.
    cached = cache.peek(thread)
    for person in (buyer, seller):
        assert cached.people[person.id].last_seq == row(thread, person).last_seq
        # Or the cache is marked stale.
        assert (
            cached.cursors_are_stale
            or cached.people[person.id].unread == row(thread, person).unread
        )


def test_a_repeat_of_a_send_stored_by_another_process_is_not_refused(thread, buyer, other_process):
    client_id = str(uuid4())
    message_id, _ = other_process.do(other_processes.send, buyer, thread, "Once", client_id).value
    thread_item(thread).update([type(thread_item(thread)).status.set("locked")])
    again = send_message(buyer, thread_id=thread, client_id=client_id, body="Once")
    assert again.id == message_id
