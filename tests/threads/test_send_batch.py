"""Several messages in one transaction: the result of separate sends, without delays by failures."""

import asyncio
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.refusals import Refusal
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
from tests.threads.faults import WRITE, read_timeout, transaction_cancelled
from threads import cache
from threads.actions import messages
from threads.actions.blocks import block_person
from threads.actions.folders import archive_thread, pin_thread
from threads.actions.messages import OutgoingMessage, send_batch_steps
from threads.dynamodb.change import Change
from threads.dynamodb.retry import time_budget
from threads.dynamodb.store import count_requests
from threads.dynamodb.transactions import commit_steps, commit_steps_async


@pytest.fixture(params=["here", "on the loop"], autouse=True)
def committed(request, monkeypatch):
    """Commits like a command, or like the batcher: on the event loop, without ORM or waiting."""
    if request.param == "on the loop":
        monkeypatch.setitem(globals(), "commit_steps", _commit_on_a_loop)


def _commit_on_a_loop(steps) -> None:
    asyncio.run(commit_steps_async(steps))


def send_all(batch: list[OutgoingMessage]) -> None:
    commit_steps(send_batch_steps(batch))


def outgoing(user, thread, body="", client_id="", **fields) -> OutgoingMessage:
    return OutgoingMessage(
        user, thread, client_id or str(uuid4()), body or f"From {user}", **fields
    )


def send_remaining(batch: list[OutgoingMessage]) -> None:
    """Sends the messages that the batch did not store one by one, like the batcher does."""
    for one in batch:
        if not one.is_done:
            try:
                one.message = one.run()
            except Refusal as refusal:
                one.refusal = refusal


def bodies(thread: str) -> list[str]:
    return [message.body for message in messages_of(thread)][1:]


def test_messages_of_one_thread_are_one_request_and_keep_their_order(
    thread, buyer, seller, delivered
):
    batch = [outgoing([buyer, seller][n % 2], thread, f"Number {n}") for n in range(8)]
    with count_requests() as requests:
        send_all(batch)

    assert requests == ["TransactWriteItems"]
    assert bodies(thread) == [f"Number {n}" for n in range(8)]
    assert [one.message.seq for one in batch] == list(range(2, 10))
    assert_consistent(thread)
    published = [e["body"] for e in delivered.to(seller, "message.sent")]
    assert published[-8:] == bodies(thread)
    assert delivered.to(buyer, "inbox.changed")[-1]["last_message"]["text"] == "Number 7"


def test_messages_of_several_threads_are_one_request(buyer, delivered):
    threads = [start(buyer, make_person(f"Seller {n}")) for n in range(8)]
    with count_requests() as requests:
        send_all([outgoing(buyer, thread, "Hello to all") for thread in threads])

    assert requests == ["TransactWriteItems"]
    for thread in threads:
        assert bodies(thread) == ["Hello to all"]
    assert_consistent(*threads)


def test_messages_beyond_the_transaction_limit_are_left_for_the_next(thread, buyer):
    batch = [outgoing(buyer, thread, f"Number {n}") for n in range(60)]
    send_all(batch)
    done = [one.is_done for one in batch]
    assert done == sorted(done, reverse=True), "The first messages are sent, in order."
    assert 40 < sum(done) < 50

    send_remaining(batch)
    assert bodies(thread) == [f"Number {n}" for n in range(60)]
    assert_consistent(thread)


def test_a_used_client_id_is_left_out_without_delaying_the_others(thread, buyer, seller):
    before = str(uuid4())
    send_all([outgoing(buyer, thread, "First", before)])
    other = start(buyer, make_person("Sid"))
    repeated, reused, fine = (
        outgoing(buyer, thread, "First", before),
        outgoing(buyer, thread, "Another", before),
        outgoing(buyer, other, "To somebody else"),
    )
    with count_requests() as requests:
        send_all([repeated, reused, fine])
    assert fine.is_done
    assert requests == ["TransactWriteItems"] * 2
    assert not any(one.is_done for one in (repeated, reused))

    send_remaining([repeated, reused])
    assert repeated.message.seq == 2
    assert reused.refusal.code == "CLIENT_ID_REUSED"
    assert bodies(thread) == ["First"]
    assert_consistent(thread, other)


def test_the_same_client_id_twice_is_stored_once(thread, buyer, delivered):
    client_id = str(uuid4())
    both = [outgoing(buyer, thread, "Once", client_id) for _ in range(2)]
    send_all(both)
    send_remaining(both)
    assert bodies(thread) == ["Once"]
    assert both[0].message.seq == both[1].message.seq == 2
    assert len(delivered.to(buyer, "message.sent")) == 1


def test_a_thread_with_a_concurrent_write_is_left_out_without_delaying_the_others(
    thread, buyer, seller, other_process
):
    from tests.threads import other_processes

    other = start(buyer, make_person("Sid"))
    other_process.do(other_processes.send, seller, thread, "Faster")
    both = [outgoing(buyer, thread, "Slower"), outgoing(buyer, other, "Alone")]
    with count_requests() as requests:
        send_all(both)
        assert [one.is_done for one in both] == [False, True]
        send_remaining(both)

    assert requests == ["TransactWriteItems"] * 3, "The refusal includes the stored thread."
    assert bodies(thread) == ["Faster", "Slower"]
    assert_consistent(thread, other)


def test_a_later_message_does_not_overtake_a_refused_one(thread, buyer, seller):
    """The cached lock may be stale, so both messages are retried in order."""
    cache.peek(thread).thread.status = "locked"
    both = [outgoing(buyer, thread, "One"), outgoing(buyer, thread, "Two")]
    send_all(both)
    assert not any(one.is_done for one in both)
    send_remaining(both)
    assert bodies(thread) == ["One", "Two"]


def test_an_empty_message_is_refused_and_the_others_are_sent(thread, buyer):
    empty, fine = outgoing(buyer, thread, " \n "), outgoing(buyer, thread, "Something")
    send_all([empty, fine])
    assert empty.refusal.code == "MSG_EMPTY"
    assert fine.message.seq == 2


def test_a_stranger_is_refused_and_the_others_are_sent(thread, buyer, stranger):
    theirs, mine = outgoing(stranger, thread, "Let me in"), outgoing(buyer, thread, "Mine")
    other = start(buyer, make_person("Sid"))
    fine = outgoing(buyer, other)
    send_all([theirs, mine, fine])
    assert fine.is_done
    send_remaining([theirs, mine])
    assert theirs.refusal.code == "THREAD_NOT_FOUND"
    assert bodies(thread) == ["Mine"]


def test_a_blocked_sender_is_refused_and_the_others_are_sent(thread, buyer, seller):
    other = start(buyer, make_person("Sid"))
    cached = cache.peek(thread).copy()
    block_person(seller, blocked=buyer)
    cache.invalidate(thread)
    cache.put(cached)
    blocked, fine = outgoing(buyer, thread), outgoing(buyer, other)
    send_all([blocked, fine])
    assert (blocked.is_done, fine.is_done) == (False, True)
    send_remaining([blocked])
    assert blocked.refusal.code == "MSG_BLOCKED_BY_USER"


def test_a_batch_stored_without_an_answer_is_published_once(
    thread, buyer, seller, delivered, faults
):
    other = start(buyer, make_person("Sid"))
    faults.after(WRITE, read_timeout)
    both = [outgoing(buyer, thread, "Silence"), outgoing(buyer, other, "More of it")]
    with time_budget(0.0):
        send_all(both)
    assert not any(one.is_done for one in both)
    send_remaining(both)

    assert bodies(thread) == ["Silence"]
    assert [e["body"] for e in delivered.to(seller, "message.sent")].count("Silence") == 1
    assert_consistent(thread, other)


def test_a_transaction_without_an_answer_is_retried_and_stored_once(
    thread, buyer, seller, delivered, faults
):
    faults.after(WRITE, read_timeout)
    one = outgoing(buyer, thread, "Silence")
    send_all([one])
    assert one.is_done
    assert bodies(thread) == ["Silence"]
    assert [e["body"] for e in delivered.to(seller, "message.sent")].count("Silence") == 1
    assert_consistent(thread)


def test_a_batch_that_never_reached_the_store_is_sent_again(thread, buyer, faults):
    faults.before(WRITE, read_timeout)
    both = [outgoing(buyer, thread, "One"), outgoing(buyer, thread, "Two")]
    send_all(both)
    send_remaining(both)
    assert bodies(thread) == ["One", "Two"]
    assert_consistent(thread)


def test_a_message_stored_with_an_invalid_answer_is_published_once(
    thread, buyer, seller, delivered, faults
):
    faults.after(WRITE, lambda *_: ValueError("garbled"))
    one = outgoing(buyer, thread, "Garbled")
    with pytest.raises(ValueError, match="garbled"):
        send_all([one])
    send_remaining([one])
    assert bodies(thread) == ["Garbled"]
    assert [e["body"] for e in delivered.to(seller, "message.sent")].count("Garbled") == 1


def test_a_publish_failure_does_not_affect_other_messages(
    thread, buyer, seller, delivered, monkeypatch
):
    sid = make_person("Sid")
    other = start(buyer, sid)
    publish = messages.publish_message

    def publish_some(appended) -> None:
        if appended.message.thread_id == thread:
            raise RuntimeError("cannot be rendered")
        publish(appended)

    monkeypatch.setattr(messages, "publish_message", publish_some)
    both = [outgoing(buyer, thread, "Unshowable"), outgoing(buyer, other, "Fine")]
    send_all(both)
    assert all(one.is_done for one in both)
    assert [e["body"] for e in delivered.to(sid, "message.sent")][-1] == "Fine"


def test_all_messages_are_sent_after_a_conflict(thread, buyer, faults):
    other = start(buyer, make_person("Sid"))
    faults.before(WRITE, transaction_cancelled("TransactionConflict"))
    both = [outgoing(buyer, thread, "Busy"), outgoing(buyer, other, "Free")]
    send_all(both)
    assert [one.is_done for one in both] == [False, True]
    send_remaining(both)
    assert bodies(thread) == ["Busy"]
    assert_consistent(thread, other)


def test_a_batch_does_not_wait_for_a_locked_thread(thread, buyer):
    other = start(buyer, make_person("Sid"))
    both = [outgoing(buyer, thread), outgoing(buyer, other)]
    with cache.write_lock(thread):
        send_all(both)
    assert [one.is_done for one in both] == [False, True]


# --- Equivalence with separate sends

PEOPLE = 3
WHO_AND_HOW = st.lists(
    st.tuples(st.integers(0, PEOPLE - 1), st.sampled_from(["blind", "seen"])),
    min_size=1,
    max_size=6,
)
BEFORE = st.sampled_from(["nothing", "read", "delivered", "archived", "pinned", "archived unread"])


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(sends=WHO_AND_HOW, before=BEFORE, place=st.integers(0, PEOPLE - 1))
def test_a_batch_stores_the_same_as_separate_sends(db, sends, before, place):
    people = [make_person(f"P{n}") for n in range(PEOPLE)]
    results = []
    for is_batch in (True, False):
        thread = start(people[0], people[1])
        add_friend(people[0], thread_id=thread, user=people[2])
        say(people[1], thread, "Something to read")
        _prepare(before, people[place], thread)
        last = thread_item(thread).last_seq
        batch = [
            outgoing(
                people[who],
                thread,
                f"Number {n}",
                seen_seq=last + n if how == "seen" else 0,
            )
            for n, (who, how) in enumerate(sends)
        ]
        if is_batch:
            send_all(batch)
            assert all(one.is_done for one in batch)
        else:
            send_remaining(batch)
        assert_consistent(thread)
        results.append([_row_values(thread, person) for person in people])
        cached = cache.peek(thread)
        for person in people:
            assert cached.people[person.id].unread == row(thread, person).unread
            assert cached.people[person.id].folder == row(thread, person).folder
    assert results[0] == results[1]


def _prepare(before: str, person, thread: str) -> None:
    match before:
        case "read":
            read_newest(person, thread)
        case "delivered":
            deliver_newest(person, thread)
        case "archived":
            read_newest(person, thread)
            archive_thread(person, thread_id=thread)
        case "archived unread":
            archive_thread(person, thread_id=thread)
        case "pinned":
            pin_thread(person, thread_id=thread)


def _row_values(thread: str, person) -> dict:
    item = row(thread, person)
    names = (
        *("last_seq", "last_tally", "last_read_seq", "last_read_tally", "own_since_read"),
        *("delivered_seq", "first_undelivered_seq", "folder", "pinned", "marked_unread"),
        "waiting_for",
    )
    values = {name: getattr(item, name) for name in names}
    return values | {"pending": bool(item.pending_pk), "unread": bool(item.unread_pk)}


NAMES = st.sampled_from(["last_seq", "own_since_read", "first_undelivered_seq"])
CHANGES = st.builds(
    lambda put, absent, more, removed: Change(
        set=put,
        set_if_absent={name: value for name, value in absent.items() if name not in put},
        add={
            name: value
            for name, value in more.items()
            if name not in put and name not in absent and name not in removed
        },
        remove=tuple(name for name in removed if name not in put and name not in absent),
    ),
    st.dictionaries(NAMES, st.integers(0, 9), max_size=2),
    st.dictionaries(NAMES, st.integers(0, 9), max_size=2),
    st.dictionaries(st.just("own_since_read"), st.integers(1, 3), max_size=1),
    st.lists(st.just("first_undelivered_seq"), max_size=1),
)


@given(changes=st.lists(CHANGES, min_size=1, max_size=4), value=st.integers(0, 5))
def test_merged_changes_equal_the_sequence_of_changes(changes, value):
    from threads.models import Participant

    def person() -> Participant:
        return Participant("THR#x", "PART#y", last_seq=value, own_since_read=value)

    one_by_one, merged, both = person(), person(), Change()
    for change in changes:
        change.apply(one_by_one)
        both = both.then(change)
    both.apply(merged)
    assert merged.attribute_values == one_by_one.attribute_values


@pytest.mark.parametrize("kind", ["set", "set_if_absent", "add", "remove"])
def test_no_attribute_is_named_twice_in_one_change(kind):
    first = Change(set={"last_seq": 1}, set_if_absent={"first_undelivered_seq": 1})
    later = {
        "set": Change(set={"first_undelivered_seq": 2, "last_seq": 2}),
        "set_if_absent": Change(set_if_absent={"first_undelivered_seq": 2, "last_seq": 2}),
        "add": Change(add={"last_seq": 1}),
        "remove": Change(remove=("first_undelivered_seq", "last_seq")),
    }[kind]
    both = first.then(later)
    names = [*both.set, *both.set_if_absent, *both.add, *both.remove]
    assert len(names) == len(set(names))
