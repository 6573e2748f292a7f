"""Drafts on several devices: versions, merging, published events, and refusals."""

import time

import pytest

from core.refusals import Refusal
from tests.threads.conftest import add_friend, make_person, start, thread_item
from tests.threads.faults import ALWAYS, WRITE, connection_closed, transaction_cancelled
from threads.actions.blocks import block_person
from threads.actions.drafts import MAX_DRAFT_CHARS, find_draft, save_draft
from threads.actions.participants import leave_thread, remove_participant
from threads.dynamodb.retry import time_budget
from threads.dynamodb.store import count_requests
from threads.models import Thread
from threads.models.thread import LOCKED


def save(user, thread: str, text: str, version: int = 0) -> None:
    save_draft(user, thread_id=thread, text=text, version=version)


def draft(user, thread: str) -> tuple[str, int]:
    found = find_draft(user, thread)
    return (found.text, found.version)


def refused(*args, **kwargs) -> str:
    with pytest.raises(Refusal) as refusal:
        save(*args, **kwargs)
    return refusal.value.code


# --- Versions


def test_the_version_of_a_draft_increases(thread, buyer):
    assert find_draft(buyer, thread) is None
    save(buyer, thread, "Could we")
    assert draft(buyer, thread) == ("Could we", 1)
    save(buyer, thread, "Could we meet", 1)
    assert draft(buyer, thread) == ("Could we meet", 2)


def test_a_draft_is_stored_unchanged(thread, buyer):
    text = "  Two blanks,\n\ta tab, 写 and a line at the end\n"
    save(buyer, thread, text)
    assert draft(buyer, thread) == (text, 1)


def test_an_empty_draft_keeps_its_version(thread, buyer):
    save(buyer, thread, "Sent a moment later")
    save(buyer, thread, "", 1)
    assert draft(buyer, thread) == ("", 2)
    save(buyer, thread, "The next", 2)
    assert draft(buyer, thread) == ("The next", 3)


def test_a_draft_belongs_to_one_user_and_one_thread(thread, buyer, seller):
    other = start(buyer, seller)
    save(buyer, thread, "Here")
    assert find_draft(seller, thread) is None
    assert find_draft(buyer, other) is None


# --- Two devices


def test_a_different_text_with_an_older_version_is_appended(thread, buyer):
    save(buyer, thread, "From the desk")
    save(buyer, thread, "From the phone", 0)
    assert draft(buyer, thread) == ("From the desk\n\nFrom the phone", 2)


@pytest.mark.parametrize(
    ("stored", "text", "kept"),
    [
        ("Could we", "Could we meet", "Could we meet"),
        ("Could we meet", "Could we", "Could we meet"),
        ("Could we meet", "Could we meet", "Could we meet"),
        ("", "Could we", "Could we"),
        ("  \n", "Could we", "Could we"),
        ("Could we", "", "Could we"),
        ("Could we", "  ", "Could we"),
    ],
)
def test_text_that_the_other_draft_contains_is_not_duplicated(thread, buyer, stored, text, kept):
    save(buyer, thread, "Something", 0)
    save(buyer, thread, stored, 1)
    save(buyer, thread, text, 1)
    assert draft(buyer, thread) == (kept, 3)


def test_a_repeated_save_does_not_duplicate_the_text(thread, buyer):
    for _ in range(3):
        save(buyer, thread, "Could we meet", 0)
    assert draft(buyer, thread)[0] == "Could we meet"


def test_an_unknown_version_is_treated_as_none(thread, buyer):
    save(buyer, thread, "From a device that was away for long", 7)
    assert draft(buyer, thread) == ("From a device that was away for long", 1)
    save(buyer, thread, "Something else", 99)
    assert draft(buyer, thread)[0] == "From a device that was away for long\n\nSomething else"


def test_concurrent_saves_of_two_devices_keep_both_texts(thread, buyer, faults, other_process):
    fields = {"thread_id": thread, "text": "From the phone", "version": 0}
    faults.run_before(WRITE, lambda: other_process.do(save_draft, buyer, **fields))
    save(buyer, thread, "From the desk")
    assert draft(buyer, thread) == ("From the phone\n\nFrom the desk", 2)


def test_concurrent_saves_in_three_processes_lose_nothing(
    thread, buyer, other_process, third_process
):
    at = time.time() + 0.2
    devices = [
        process.begin(save_draft, buyer, thread_id=thread, text=text, version=0, at=at)
        for process, text in ((other_process, "From the phone"), (third_process, "From the tablet"))
    ]
    time.sleep(max(0, at - time.time()))
    save(buyer, thread, "From the desk")
    for device in devices:
        assert device.result(30).value is None
    text, version = draft(buyer, thread)
    assert sorted(text.split("\n\n")) == ["From the desk", "From the phone", "From the tablet"]
    assert version == 3


# --- Published events


def test_a_draft_is_published_only_to_its_user(thread, buyer, seller, delivered):
    save(buyer, thread, "Could we")
    assert delivered == [
        (buyer.id, {"type": "draft.changed", "thread": thread, "text": "Could we", "version": 1})
    ]


def test_the_event_has_the_stored_draft(thread, buyer, delivered):
    for text, version in [("One", 0), ("Two", 0), ("", 1), ("Three", 3)]:
        save(buyer, thread, text, version)
        event = delivered.to(buyer, "draft.changed")[-1]
        assert (event["text"], event["version"]) == draft(buyer, thread)


# --- Limits


def test_a_draft_may_be_longer_than_a_message(thread, buyer, delivered):
    """A text that is too long to send can be shortened later on any device."""
    text = "写" * MAX_DRAFT_CHARS
    save(buyer, thread, text)
    assert draft(buyer, thread) == (text, 1)
    assert delivered.to(buyer, "draft.changed")[0]["text"] == text


def test_a_draft_that_is_too_long_is_refused_and_the_stored_one_kept(thread, buyer, delivered):
    save(buyer, thread, "As it is")
    delivered.clear()
    assert refused(buyer, thread, "x" * (MAX_DRAFT_CHARS + 1), 1) == "MSG_TOO_LONG"
    assert draft(buyer, thread) == ("As it is", 1)
    assert not delivered


def test_a_merge_that_is_too_long_is_refused_and_the_first_kept(thread, buyer, delivered):
    first, second = "x" * MAX_DRAFT_CHARS, "y" * MAX_DRAFT_CHARS
    save(buyer, thread, first)
    delivered.clear()
    assert refused(buyer, thread, second, 0) == "MSG_TOO_LONG"
    assert draft(buyer, thread) == (first, 1)
    assert not delivered


# --- Refusals


def test_a_stranger_is_refused_like_for_a_missing_thread(thread, stranger, cold, delivered):
    missing = "thrd_01JZZZZZZZZZZZZZZZZZZZZZZZ"
    for is_cold in (True, False):
        if is_cold:
            cold(thread)
        with count_requests() as requests_of_stranger, pytest.raises(Refusal) as theirs:
            save(stranger, thread, "Hello")
        with count_requests() as requests_of_missing, pytest.raises(Refusal) as not_found:
            save(stranger, missing, "Hello")
        assert theirs.value.as_dict("") == not_found.value.as_dict("")
        assert theirs.value.code == "THREAD_NOT_FOUND"
        assert requests_of_stranger == requests_of_missing
    assert find_draft(stranger, thread) is None
    assert not delivered


def test_a_removed_participant_cannot_save_with_a_stale_cache(
    thread, buyer, other_process, delivered
):
    guest = make_person("Gil")
    add_friend(buyer, thread_id=thread, user=guest)
    save(guest, thread, "Not sent")
    other_process.do(remove_participant, buyer, thread_id=thread, user_id=guest.id)
    assert find_draft(guest, thread) is None
    delivered.clear()
    assert refused(guest, thread, "Still typing", 1) == "THREAD_NOT_FOUND"
    assert find_draft(guest, thread) is None
    assert not delivered


def test_a_new_participant_can_save_with_a_stale_cache(thread, buyer, other_process):
    guest = make_person("Gil")
    other_process.do(add_friend, buyer, thread_id=thread, user=guest)
    save(guest, thread, "Hello")
    assert draft(guest, thread) == ("Hello", 1)


def test_a_draft_is_deleted_when_its_user_leaves(thread, buyer):
    guest = make_person("Gil")
    add_friend(buyer, thread_id=thread, user=guest)
    save(guest, thread, "Not sent")
    leave_thread(guest, thread_id=thread)
    assert find_draft(guest, thread) is None


def test_a_draft_can_be_saved_while_sending_is_refused(thread, buyer, seller):
    block_person(seller, blocked=buyer)
    thread_item(thread).update([Thread.status.set(LOCKED)])
    save(buyer, thread, "For when it is open again")
    assert draft(buyer, thread)[1] == 1


# --- Cost and failures


def test_a_save_costs_one_request_and_one_more_after_a_race(thread, buyer, cold):
    for cache_state in ("warm", "cold"):
        if cache_state == "cold":
            cold(thread)
        with count_requests() as requests:
            save(buyer, thread, f"Text {cache_state}", int(cache_state == "cold"))
        assert requests == ["TransactWriteItems"]
    with count_requests() as requests:
        save(buyer, thread, "From elsewhere", 0)
    assert requests == ["TransactWriteItems"] * 2


def test_a_conflict_is_retried(thread, buyer, faults):
    faults.before(WRITE, transaction_cancelled("TransactionConflict"), times=4)
    save(buyer, thread, "Could we")
    assert draft(buyer, thread) == ("Could we", 1)


def test_a_failed_save_publishes_nothing(thread, buyer, faults, delivered):
    faults.before(WRITE, transaction_cancelled("TransactionConflict"), times=ALWAYS)
    assert refused(buyer, thread, "Could we") == "TRY_AGAIN"
    assert find_draft(buyer, thread) is None
    assert not delivered


def test_a_lost_answer_does_not_duplicate_the_text(thread, buyer, faults):
    faults.after(WRITE, connection_closed)
    with time_budget(0.0):
        assert refused(buyer, thread, "Could we") == "TRY_AGAIN"
    save(buyer, thread, "Could we", 0)
    assert draft(buyer, thread)[0] == "Could we"
