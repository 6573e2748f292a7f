"""Blocks: stored in SQL, copied to the pair and to every thread that both users share."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from accounts.models import Block
from core.outbox import processing
from core.outbox.handlers import HANDLERS
from core.outbox.models import OutboxEntry
from core.refusals import Refusal
from tests.outbox.timing import make_due
from tests.threads import other_processes
from tests.threads.checker import assert_consistent
from tests.threads.conftest import add_friend, make_person, messages_of, row, say, start
from tests.threads.faults import (
    ALWAYS,
    UPDATE,
    WRITE,
    client_error,
    transaction_cancelled,
    unreachable,
)
from threads.actions.blocks import block_person, unblock_person
from threads.actions.participants import leave_thread, remove_participant
from threads.dynamodb import keys
from threads.models import Pair

pytestmark = pytest.mark.storage


def blockers(one, other) -> set[str] | None:
    pair = Pair.find(keys.pair_pk(one.id, other.id), keys.STATE)
    return pair.blocked_by if pair else None


def refusal_of(action) -> str:
    with pytest.raises(Refusal) as refusal:
        action()
    return refusal.value.code


def test_neither_side_can_send_in_any_shared_thread(buyer, seller):
    one, other = start(buyer, seller), start(seller, buyer)
    block_person(seller, blocked=buyer)

    assert Block.objects.filter(blocker=seller, blocked=buyer).exists()
    assert blockers(buyer, seller) == {seller.id}
    for thread in (one, other):
        for person in (buyer, seller):
            assert row(thread, person).blocked_by == {seller.id}
            code = refusal_of(lambda thread=thread, person=person: say(person, thread))
            assert code == "MSG_BLOCKED_BY_USER"
        assert len(messages_of(thread)) == 1
        assert_consistent(thread)


def test_both_can_send_after_the_block_is_lifted(thread, buyer, seller):
    block_person(buyer, blocked=seller)
    unblock_person(buyer, blocked=seller)

    assert blockers(buyer, seller) is None
    assert row(thread, buyer).blocked_by is None
    assert say(buyer, thread).seq == 2
    assert say(seller, thread).seq == 3
    assert_consistent(thread)


def test_a_mutual_block_ends_when_both_have_lifted_it(thread, buyer, seller):
    block_person(buyer, blocked=seller)
    block_person(seller, blocked=buyer)
    assert blockers(buyer, seller) == row(thread, buyer).blocked_by == {buyer.id, seller.id}

    unblock_person(buyer, blocked=seller)
    assert blockers(buyer, seller) == row(thread, seller).blocked_by == {seller.id}
    assert refusal_of(lambda: say(buyer, thread)) == "MSG_BLOCKED_BY_USER"
    # Lifting the block of the other user changes nothing.
    unblock_person(buyer, blocked=seller)
    assert refusal_of(lambda: say(seller, thread)) == "MSG_BLOCKED_BY_USER"

    unblock_person(seller, blocked=buyer)
    assert say(buyer, thread).seq == 2


def test_a_block_does_not_affect_other_users(thread, buyer, seller, stranger):
    others = start(stranger, seller)
    block_person(seller, blocked=buyer)
    assert say(stranger, others).seq == 2
    assert row(others, seller).blocked_by is None


def test_both_can_still_send_in_a_group(thread, buyer, seller, stranger):
    add_friend(buyer, thread_id=thread, user=stranger)
    block_person(seller, blocked=buyer)
    for person in (buyer, seller, stranger):
        say(person, thread)
    assert_consistent(thread)


def test_a_block_applies_again_when_a_group_shrinks_to_two(thread, buyer, seller, stranger):
    add_friend(buyer, thread_id=thread, user=stranger)
    block_person(seller, blocked=buyer)
    leave_thread(stranger, thread_id=thread)
    for person in (buyer, seller):
        code = refusal_of(lambda person=person: say(person, thread))
        assert code == "MSG_BLOCKED_BY_USER"


def test_a_block_applies_between_the_last_two_who_did_not_start_the_thread(
    thread, buyer, seller, stranger
):
    add_friend(buyer, thread_id=thread, user=stranger)
    block_person(seller, blocked=stranger)
    say(stranger, thread)
    leave_thread(buyer, thread_id=thread)

    for person in (stranger, seller):
        code = refusal_of(lambda person=person: say(person, thread))
        assert code == "MSG_BLOCKED_BY_USER"
    unblock_person(seller, blocked=stranger)
    say(stranger, thread)
    assert_consistent(thread)


def test_the_last_two_participants_can_block_each_other_later(thread, buyer, seller, stranger):
    add_friend(seller, thread_id=thread, user=stranger)
    leave_thread(buyer, thread_id=thread)
    say(stranger, thread)
    block_person(stranger, blocked=seller)

    for person in (stranger, seller):
        code = refusal_of(lambda person=person: say(person, thread))
        assert code == "MSG_BLOCKED_BY_USER"
    assert_consistent(thread)


def test_a_block_between_the_last_two_is_not_lost_in_a_race(
    thread, buyer, seller, stranger, faults
):
    add_friend(seller, thread_id=thread, user=stranger)
    faults.run_before("TransactWriteItems", lambda: block_person(seller, blocked=stranger))
    leave_thread(buyer, thread_id=thread)

    assert refusal_of(lambda: say(stranger, thread)) == "MSG_BLOCKED_BY_USER"
    assert row(thread, stranger).blocked_by == row(thread, seller).blocked_by == {seller.id}


def test_a_block_applies_again_when_the_third_participant_is_removed(thread, buyer, seller, person):
    one, other = person("Ona"), person("Oto")
    add_friend(seller, thread_id=thread, user=one)
    add_friend(seller, thread_id=thread, user=other)
    block_person(other, blocked=seller)
    leave_thread(buyer, thread_id=thread)
    say(other, thread)
    remove_participant(seller, thread_id=thread, user_id=one.id)

    assert refusal_of(lambda: say(other, thread)) == "MSG_BLOCKED_BY_USER"


def test_a_block_by_a_former_participant_does_not_affect_the_remaining_two(
    thread, buyer, seller, stranger
):
    add_friend(seller, thread_id=thread, user=stranger)
    block_person(stranger, blocked=seller)
    leave_thread(buyer, thread_id=thread)
    # Both were participants of this thread; now it has only one of them.
    block_person(buyer, blocked=seller)
    unblock_person(buyer, blocked=seller)

    for person in (stranger, seller):
        assert row(thread, person).blocked_by == {stranger.id}
        code = refusal_of(lambda person=person: say(person, thread))
        assert code == "MSG_BLOCKED_BY_USER"


def test_the_last_participant_is_not_blocked(thread, buyer, seller, stranger):
    block_person(seller, blocked=buyer)
    leave_thread(seller, thread_id=thread)

    say(buyer, thread, "A note to myself")
    add_friend(buyer, thread_id=thread, user=stranger)
    say(stranger, thread)
    say(buyer, thread)
    assert_consistent(thread)


def test_a_former_participant_can_be_added_back_after_the_block_is_lifted(thread, buyer, seller):
    block_person(seller, blocked=buyer)
    leave_thread(buyer, thread_id=thread)
    assert (
        refusal_of(lambda: add_friend(seller, thread_id=thread, user=buyer)) == "ACTION_FORBIDDEN"
    )
    unblock_person(seller, blocked=buyer)
    add_friend(seller, thread_id=thread, user=buyer)
    say(buyer, thread)
    say(seller, thread)
    assert_consistent(thread)


def test_a_block_made_while_one_leaves_does_not_affect_the_remaining_two(
    thread, buyer, seller, stranger, faults
):
    add_friend(seller, thread_id=thread, user=stranger)
    # Just before the block is written into the thread, one of the two leaves.
    faults.run_before(
        "TransactWriteItems",
        lambda: faults.run_before(
            "TransactWriteItems", lambda: leave_thread(buyer, thread_id=thread)
        ),
    )
    block_person(seller, blocked=buyer)

    assert row(thread, buyer) is None
    assert row(thread, seller).blocked_by is None
    say(stranger, thread)
    say(seller, thread)


def test_users_cannot_block_themselves(buyer):
    assert refusal_of(lambda: block_person(buyer, blocked=buyer)) == "ACTION_FORBIDDEN"
    assert not Block.objects.filter(blocker=buyer).exists()


def test_blocking_and_unblocking_are_idempotent(thread, buyer, seller):
    for _ in range(2):
        block_person(seller, blocked=buyer)
    assert Block.objects.filter(blocker=seller).count() == 1
    assert blockers(buyer, seller) == {seller.id}
    for _ in range(2):
        unblock_person(seller, blocked=buyer)
    assert blockers(buyer, seller) is None
    assert say(buyer, thread).seq == 2


def test_lifting_a_missing_block_does_not_accept_a_stranger(buyer, stranger):
    unblock_person(buyer, blocked=stranger)
    pair = Pair.find(keys.pair_pk(buyer.id, stranger.id), keys.STATE)
    assert pair is None or not pair.accepted


def test_a_process_with_a_stale_cache_refuses_too(thread, buyer, seller, other_process):
    assert other_process.do(other_processes.send, buyer, thread, "Before").value[1] == 2
    block_person(seller, blocked=buyer)
    assert (
        other_process.do(other_processes.send, buyer, thread, "After").value
        == "MSG_BLOCKED_BY_USER"
    )
    unblock_person(seller, blocked=buyer)
    assert other_process.do(other_processes.send, buyer, thread, "Again").value[1] == 3
    assert_consistent(thread)


def test_a_block_cannot_be_bypassed_by_adding_a_third_in_another_process(
    thread, buyer, seller, stranger, other_process
):
    """Both may send in a group, so a process with a stale cache must not create one."""
    other_process.do(other_processes.send, buyer, thread, "So that it knows the thread")
    block_person(seller, blocked=buyer)

    done = other_process.do(add_friend, buyer, thread_id=thread, user=stranger)

    assert done.value == "MSG_BLOCKED_BY_USER"
    assert row(thread, stranger) is None
    assert_consistent(thread)


# --- Processed by the relay


def count_pending() -> int:
    return OutboxEntry.objects.filter(done_at__isnull=True, kind="block").count()


@pytest.fixture
def empty_outbox(db) -> None:
    OutboxEntry.objects.all().delete()


def test_the_relay_finishes_a_block_after_an_outage(thread, buyer, seller, faults, empty_outbox):
    faults.before("*", unreachable, times=ALWAYS)
    block_person(seller, blocked=buyer)
    assert count_pending() == 1
    assert processing.process_due() == 0
    faults.clear()
    assert blockers(buyer, seller) is None

    make_due()
    assert processing.process_due() == 1
    assert count_pending() == 0
    assert blockers(buyer, seller) == row(thread, buyer).blocked_by == {seller.id}


@pytest.mark.parametrize("writes", [0, 1])
def test_the_relay_finishes_a_partially_written_block(buyer, seller, faults, empty_outbox, writes):
    threads = [start(buyer, seller) for _ in range(2)]
    # The pair is written first, then both items of each thread; the store fails after some of them.
    faults.allow(WRITE, writes)
    faults.before(WRITE, unreachable, times=ALWAYS)
    block_person(seller, blocked=buyer)
    assert count_pending() == 1

    faults.clear()
    make_due()
    assert processing.process_due() == 1
    for thread in threads:
        for person in (buyer, seller):
            assert row(thread, person).blocked_by == {seller.id}


def test_a_late_repeated_entry_writes_the_current_block(thread, buyer, seller, empty_outbox):
    block_person(seller, blocked=buyer)
    entry = OutboxEntry.objects.get()
    unblock_person(seller, blocked=buyer)

    HANDLERS["block"](entry)
    assert blockers(buyer, seller) is None
    assert row(thread, buyer).blocked_by is None


def test_a_block_waits_for_a_transaction_on_the_same_items(thread, buyer, seller, faults):
    faults.before(UPDATE, client_error("TransactionConflictException"), times=3)
    faults.before(WRITE, transaction_cancelled("TransactionConflict"), times=3)
    block_person(seller, blocked=buyer)
    assert row(thread, buyer).blocked_by == row(thread, seller).blocked_by == {seller.id}
    assert blockers(buyer, seller) == {seller.id}


@pytest.mark.django_db(transaction=True)
def test_concurrent_blocks_and_unblocks_end_as_in_the_database():
    buyer, seller = make_person("Bea"), make_person("Sam")
    thread = start(buyer, seller)
    barrier = threading.Barrier(2)

    def flip(blocker, blocked) -> None:
        barrier.wait()
        for _ in range(5):
            block_person(blocker, blocked=blocked)
            unblock_person(blocker, blocked=blocked)
        if blocker == seller:
            block_person(blocker, blocked=blocked)
        connection.close()

    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(flip, *pair) for pair in ((buyer, seller), (seller, buyer))]
        for job in jobs:
            job.result()

    assert list(Block.objects.values_list("blocker_id", flat=True)) == [seller.id]
    assert blockers(buyer, seller) == {seller.id}
    assert row(thread, buyer).blocked_by == row(thread, seller).blocked_by == {seller.id}
