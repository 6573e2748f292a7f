"""Concurrent revisions and sends: nothing is lost, and `rev` has no gaps."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from core.refusals import Refusal
from tests.threads import other_processes
from tests.threads.checker import assert_consistent
from tests.threads.conftest import add_friend, make_person, messages_of, row, say, thread_item
from tests.threads.faults import (
    ALWAYS,
    WRITE,
    connection_closed,
    transaction_cancelled,
    unreachable,
)
from tests.threads.test_revisions import HEART, THUMB, edit, react, refused, remove, stored
from threads.actions.participants import leave_thread, remove_participant
from threads.actions.revisions import edit_message, remove_message, set_reaction
from threads.models.message import REACTIONS

pytestmark = pytest.mark.slow


def run_concurrently(*calls) -> list:
    with ThreadPoolExecutor(len(calls)) as pool:
        return [job.result(30) for job in [pool.submit(*call) for call in calls]]


def outcome(action, *args) -> str:
    try:
        action(*args)
    except Refusal as refusal:
        return refusal.code
    return ""


# --- Concurrent revisions


def test_concurrent_reactions_in_one_process_are_all_kept(thread, buyer, seller):
    (message,) = messages_of(thread)
    run_concurrently(
        *[(react, person, message, r) for r in REACTIONS for person in (buyer, seller)]
    )
    given = stored(message).reactions
    assert {reaction: sorted(who) for reaction, who in given.items()} == {
        reaction: sorted([buyer.id, seller.id]) for reaction in REACTIONS
    }
    assert thread_item(thread).rev == stored(message).rev == 12
    assert_consistent(thread)


def test_concurrent_reactions_in_three_processes_are_all_kept(
    thread, buyer, seller, other_process, third_process
):
    guest = make_person("Gil")
    add_friend(buyer, thread_id=thread, user=guest)
    message = say(buyer, thread)
    at = time.time() + 0.2
    theirs = [
        process.begin(other_processes.react_with_all, person, thread, message.id, at=at)
        for process, person in ((other_process, seller), (third_process, guest))
    ]
    time.sleep(max(0, at - time.time()))
    other_processes.react_with_all(buyer, thread, message.id)
    for one in theirs:
        assert one.result(60).value is None
    assert all(len(who) == 3 for who in stored(message).reactions.values())
    assert thread_item(thread).rev == stored(message).rev == 3 * len(REACTIONS)
    assert_consistent(thread)


def test_concurrent_edits_in_two_processes_leave_no_gap(thread, buyer, seller, other_process):
    mine = [say(buyer, thread) for _ in range(4)]
    theirs = [say(seller, thread) for _ in range(4)]
    at = time.time() + 0.2
    other = other_process.begin(
        other_processes.edit_all, seller, thread, [m.id for m in theirs], at=at
    )
    time.sleep(max(0, at - time.time()))
    other_processes.edit_all(buyer, thread, [m.id for m in mine])
    assert other.result(60).value is None
    assert sorted(stored(m).rev for m in mine + theirs) == list(range(1, 9))
    assert thread_item(thread).rev == 8
    assert_consistent(thread)


# --- Revisions during a send


def test_the_newest_message_is_edited_during_sends(thread, buyer, seller, other_process):
    at = time.time() + 0.2
    writing = other_process.begin(other_processes.send_many, seller, thread, 10, at=at)
    time.sleep(max(0, at - time.time()))
    for number in range(6):
        message = say(buyer, thread)
        edit(buyer, message, f"Edited {number}")
    writing.result(60)
    bodies = [m.body for m in messages_of(thread)]
    assert [body for body in bodies if body.startswith("Edited")] == [
        f"Edited {n}" for n in range(6)
    ]
    assert_consistent(thread)


def test_a_message_sent_during_an_edit_stays_the_newest(
    thread, buyer, seller, faults, other_process
):
    message = say(buyer, thread, "First")
    faults.run_before(
        WRITE, lambda: other_process.do(other_processes.send, seller, thread, "Faster")
    )
    edit(buyer, message, "Second")
    assert stored(message).body == "Second"
    for item in (thread_item(thread), row(thread, buyer), row(thread, seller)):
        assert item.last_message["text"] == "Faster"
    assert_consistent(thread)


@pytest.mark.parametrize("change", [edit, remove])
def test_a_revision_of_a_newest_message_unknown_to_the_cache_updates_previews(
    thread, buyer, seller, other_process, change
):
    say(seller, thread)
    other_process.do(other_processes.send, buyer, thread, "Sent elsewhere")
    message = messages_of(thread)[-1]
    change(buyer, message)
    shown = {edit: "Otherwise", remove: "Message removed"}[change]
    assert row(thread, seller).last_message["text"] == shown
    assert_consistent(thread)


def test_a_send_keeps_a_revision_made_by_another_process(thread, buyer, seller, other_process):
    message = say(buyer, thread)
    other_process.do(edit_message, buyer, thread_id=thread, message_id=message.id, body="Elsewhere")
    say(seller, thread)
    react(seller, message)
    assert (stored(message).body, stored(message).reactions) == ("Elsewhere", {THUMB: [seller.id]})
    assert thread_item(thread).rev == 2
    assert_consistent(thread)


# --- Conflicting revisions


def test_a_concurrent_edit_and_removal_leave_the_message_removed(thread, buyer, other_process):
    for number in range(5):
        message = say(buyer, thread, "As it was")
        at = time.time() + 0.1
        fields = {"thread_id": thread, "message_id": message.id}
        removing = other_process.begin(remove_message, buyer, **fields, at=at)
        time.sleep(max(0, at - time.time() + 0.002 * (number - 2)))
        edited = outcome(edit, buyer, message)
        assert removing.result(30).value is None
        assert edited in ("", "MSG_NOT_EDITABLE")
        now = stored(message)
        assert now.removed_at
        assert (now.body, now.rev > 0) == ("As it was" if edited else "Otherwise", True)
        assert row(thread, buyer).last_message["text"] == "Message removed"
        assert_consistent(thread)


def test_a_concurrent_reaction_and_edit_are_both_kept(thread, buyer, seller, faults, other_process):
    message = say(buyer, thread)
    fields = {"thread_id": thread, "message_id": message.id, "reaction": HEART, "on": True}
    faults.run_before(WRITE, lambda: other_process.do(set_reaction, seller, **fields))
    edit(buyer, message)
    assert (stored(message).body, stored(message).reactions) == ("Otherwise", {HEART: [seller.id]})
    assert_consistent(thread)


def test_concurrent_edits_keep_both_texts(thread, buyer, faults, other_process):
    message = say(buyer, thread, "First")
    fields = {"thread_id": thread, "message_id": message.id, "body": "From the phone"}
    faults.run_before(WRITE, lambda: other_process.do(edit_message, buyer, **fields))
    edit(buyer, message, "From the desk")
    now = stored(message)
    assert now.body == "From the desk"
    assert [kept["body"] for kept in now.earlier_bodies] == ["First", "From the phone"]
    assert_consistent(thread)


# --- Revisions and changes of participants


def test_a_just_removed_participant_cannot_revise(thread, buyer, faults, other_process):
    guest = make_person("Gil")
    add_friend(buyer, thread_id=thread, user=guest)
    message = say(guest, thread, "Mine")
    fields = {"thread_id": thread, "user_id": guest.id}
    faults.run_before(WRITE, lambda: other_process.do(remove_participant, buyer, **fields))
    assert refused(edit, guest, message) == "THREAD_NOT_FOUND"
    assert stored(message).body == "Mine"
    assert_consistent(thread)


def test_a_revision_is_not_published_to_a_participant_who_just_left(
    thread, buyer, faults, other_process, delivered
):
    guest = make_person("Gil")
    add_friend(buyer, thread_id=thread, user=guest)
    message = say(buyer, thread)
    delivered.clear()
    faults.run_before(WRITE, lambda: other_process.do(leave_thread, guest, thread_id=thread))
    edit(buyer, message, "Without you")
    assert not delivered.to(guest)
    assert delivered.to(buyer, "message.edited")
    assert_consistent(thread)


# --- Failures of the store


def test_a_conflict_is_retried(thread, buyer, faults):
    message = say(buyer, thread)
    faults.before(WRITE, transaction_cancelled("TransactionConflict"), times=5)
    edit(buyer, message)
    assert stored(message).body == "Otherwise"
    assert_consistent(thread)


def test_retries_of_a_conflict_end_at_the_deadline(thread, buyer, faults):
    message = say(buyer, thread)
    faults.before(WRITE, transaction_cancelled("TransactionConflict"), times=ALWAYS)
    began = time.monotonic()
    assert refused(edit, buyer, message) == "TRY_AGAIN"
    assert 1 < time.monotonic() - began < 10
    assert faults.count < 200


def test_a_revision_whose_answer_was_lost_is_stored_once_and_published(
    thread, buyer, faults, delivered
):
    message = say(buyer, thread, "First")
    faults.after(WRITE, connection_closed)
    edit(buyer, message)
    now = stored(message)
    assert (now.body, now.rev, len(now.earlier_bodies)) == ("Otherwise", 1, 1)
    assert delivered.to(buyer, "message.edited")
    assert_consistent(thread)


def test_an_unavailable_store_refuses_a_revision(thread, buyer, faults):
    message = say(buyer, thread, "First")
    faults.before("*", unreachable, times=ALWAYS)
    assert refused(edit, buyer, message) == "TRY_AGAIN"
    faults.clear()
    assert stored(message).body == "First"
    edit(buyer, message)
    assert_consistent(thread)
