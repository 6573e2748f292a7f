"""Editing, removing, reacting: stored items, published events, refusals, and idempotency."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from core.refusals import Refusal
from tests.threads.checker import assert_consistent
from tests.threads.conftest import (
    add_friend,
    make_person,
    messages_of,
    read_newest,
    row,
    say,
    start,
    thread_item,
)
from threads.actions.blocks import block_person
from threads.actions.participants import leave_thread, remove_participant
from threads.actions.revisions import MAX_HISTORY_BYTES, edit_message, remove_message, set_reaction
from threads.dynamodb.change import Change
from threads.dynamodb.store import count_requests
from threads.dynamodb.transactions import update
from threads.models import Message, Thread
from threads.models.message import MAX_BODY_LENGTH, REACTIONS
from threads.models.thread import LOCKED
from threads.queries import open_thread
from threads.rendering.messages import render_message

THUMB, HEART = REACTIONS[:2]
# Four bytes each in UTF-8: the limit of earlier texts is in bytes.
LONG = "𝕏" * (MAX_BODY_LENGTH - 1)
NO_MESSAGE = "msg_01JZZZZZZZZZZZZZZZZZZZZZZZ"


def edit(user, message: Message, body: str = "Otherwise") -> None:
    edit_message(user, thread_id=message.thread_id, message_id=message.id, body=body)


def remove(user, message: Message) -> None:
    remove_message(user, thread_id=message.thread_id, message_id=message.id)


def react(user, message: Message, reaction: str = THUMB, *, on: bool = True) -> None:
    set_reaction(user, thread_id=message.thread_id, message_id=message.id, reaction=reaction, on=on)


def stored(message: Message) -> Message:
    return Message.find(message.pk, message.sk)


def refused(action, *args, **kwargs) -> str:
    with pytest.raises(Refusal) as refusal:
        action(*args, **kwargs)
    return refusal.value.code


def later(**length: float) -> time_machine.travel:
    return time_machine.travel(datetime.now(UTC) + timedelta(**length))


# Every revision of a user's own message.
ALL = pytest.mark.parametrize("change", [edit, remove, react], ids=["edit", "remove", "react"])
KIND = {edit: "message.edited", remove: "message.removed", react: "message.reacted"}


# --- Storage


def test_an_edit_keeps_the_earlier_text(thread, buyer):
    message = say(buyer, thread, "First")
    edit(buyer, message, "Second\r\n")
    edit(buyer, message, "Third")

    now = stored(message)
    assert (now.body, now.rev) == ("Third", 2)
    assert [earlier["body"] for earlier in now.earlier_bodies] == ["First", "Second"]
    assert now.earlier_bodies[0]["since"] == message.created_at
    assert message.created_at < now.earlier_bodies[1]["since"] < now.edited_at
    assert (now.seq, now.tally, now.created_at) == (message.seq, message.tally, message.created_at)
    assert now.removed_at is None
    assert_consistent(thread)


def test_a_removed_message_is_kept_for_staff_and_hidden_from_others(thread, buyer, seller):
    message = say(buyer, thread, "A mistake")
    edit(buyer, message, "Still a mistake")
    react(seller, message)
    remove(buyer, message)

    now = stored(message)
    assert now.removed_at
    assert (now.body, now.rev) == ("Still a mistake", 3)
    assert now.earlier_bodies[0]["body"] == "A mistake"
    assert now.reactions == {THUMB: [seller.id]}
    assert now.is_withheld
    assert_consistent(thread)


def test_reactions_are_stored_with_their_users(thread, buyer, seller):
    (message,) = messages_of(thread)
    react(buyer, message)
    react(seller, message)
    react(seller, message, HEART)
    assert stored(message).reactions == {THUMB: [buyer.id, seller.id], HEART: [seller.id]}

    react(seller, message, on=False)
    react(seller, message, HEART, on=False)
    assert stored(message).reactions == {THUMB: [buyer.id]}
    assert stored(message).edited_at is None
    assert_consistent(thread)


@pytest.mark.parametrize("reaction", REACTIONS)
def test_every_supported_reaction_is_accepted(thread, buyer, reaction):
    (message,) = messages_of(thread)
    react(buyer, message, reaction)
    assert stored(message).reactions == {reaction: [buyer.id]}


@ALL
def test_a_revision_increments_rev_and_stamps_the_message(thread, buyer, change):
    message = say(buyer, thread)
    say(buyer, thread)
    change(buyer, message)
    assert (thread_item(thread).rev, stored(message).rev) == (1, 1)
    react(buyer, message, HEART) if change is not remove else edit(buyer, messages_of(thread)[-1])
    assert thread_item(thread).rev == 2
    assert_consistent(thread)


@ALL
def test_a_revision_makes_no_message_new_or_unread(thread, buyer, seller, change):
    message = say(buyer, thread)
    read_newest(seller, thread)
    change(buyer, message)
    updated = row(thread, seller)
    assert (updated.unread, updated.unread_pk, updated.pending_pk) == (0, None, None)
    assert thread_item(thread).last_seq == message.seq
    assert_consistent(thread)


def test_a_revision_of_the_newest_message_updates_all_previews(thread, buyer, seller):
    message = say(buyer, thread, "First")
    edit(buyer, message, "**Second** " + "x" * 200)
    shown = {"author": buyer.id, "type": "text", "text": ("Second " + "x" * 200)[:140]}
    assert thread_item(thread).last_message == shown
    assert row(thread, buyer).last_message == row(thread, seller).last_message == shown

    remove(buyer, message)
    removed = shown | {"text": "Message removed"}
    assert thread_item(thread).last_message == removed
    assert row(thread, buyer).last_message == row(thread, seller).last_message == removed
    assert_consistent(thread)


def test_a_revision_of_an_older_message_leaves_previews_unchanged(thread, buyer, seller):
    message = say(buyer, thread, "First")
    say(seller, thread, "The newest")
    edit(buyer, message)
    remove(buyer, message)
    assert thread_item(thread).last_message["text"] == "The newest"
    assert row(thread, buyer).last_message["text"] == "The newest"
    assert_consistent(thread)


def test_a_message_sent_after_an_edit_is_the_newest(thread, buyer, seller):
    edit(buyer, messages_of(thread)[0])
    say(seller, thread, "Then this")
    assert thread_item(thread).last_message["text"] == "Then this"
    assert thread_item(thread).rev == 1
    assert_consistent(thread)


# --- Events


@ALL
def test_the_event_has_the_fragment_of_a_new_page(thread, buyer, seller, delivered, cold, change):
    message = say(buyer, thread, "Hello *there*")
    delivered.clear()
    change(buyer, message)

    cold(thread)
    opened = open_thread(seller, thread)
    for person in (buyer, seller):
        (event,) = delivered.to(person, KIND[change])
        assert event == {
            "type": KIND[change],
            "thread": thread,
            "message": message.id,
            "seq": message.seq,
            "rev": 1,
            "html": render_message(opened.messages[-1], opened.cached),
        }


def test_a_revised_reply_keeps_its_quote(thread, buyer, seller, delivered):
    (first,) = messages_of(thread)
    message = say(seller, thread, "Yes", reply_to=first.id)
    edit(seller, message, "No")
    (event,) = delivered.to(buyer, "message.edited")
    assert "Are you free in May?" in event["html"]


def test_a_removal_is_published_without_the_text(thread, buyer, seller, delivered):
    message = say(buyer, thread, "Unforgettable")
    react(seller, message)
    delivered.clear()
    remove(buyer, message)
    for person in (buyer, seller):
        assert "Unforgettable" not in str(delivered.to(person))
        assert "data-react=" not in delivered.to(person, "message.removed")[0]["html"]


@pytest.mark.parametrize("change", [edit, remove])
def test_inbox_events_are_published_only_for_the_newest_message(
    thread, buyer, seller, delivered, change
):
    older, newest = say(buyer, thread), say(buyer, thread)
    delivered.clear()
    change(buyer, older)
    assert not delivered.to(seller, "inbox.changed")

    change(buyer, newest)
    (changed,) = delivered.to(seller, "inbox.changed")
    assert changed["last_message"] == row(thread, seller).last_message
    assert (changed["unread"], changed["last_message_at"]) == (3, newest.created_at)


def test_a_revision_is_not_published_to_a_participant_who_joined_later(
    thread, buyer, person, delivered
):
    message = say(buyer, thread, "Before you came")
    guest = person("Gil")
    add_friend(buyer, thread_id=thread, user=guest)
    edit(buyer, message, "Still not for you")
    assert "not for you" not in str(delivered.to(guest))


# --- Idempotency


@ALL
def test_revisions_are_idempotent(thread, buyer, seller, change):
    message = say(buyer, thread)
    change(buyer, message)
    react(seller, message) if change is react else None
    before, rev = stored(message), thread_item(thread).rev
    change(buyer, message)
    assert stored(message).serialize() == before.serialize()
    assert thread_item(thread).rev == rev
    assert_consistent(thread)


def test_removing_a_missing_reaction_changes_nothing(thread, buyer):
    (message,) = messages_of(thread)
    react(buyer, message, on=False)
    assert thread_item(thread).rev == 0


def test_an_edit_with_the_same_text_changes_nothing(thread, buyer):
    message = say(buyer, thread, "As it is")
    edit(buyer, message, " As it is ")
    assert stored(message).edited_at is None
    assert thread_item(thread).rev == 0


def test_a_repeat_with_a_stale_cache_is_not_published_to_a_former_participant(
    thread, buyer, person, other_process, delivered
):
    guest = person("Gil")
    add_friend(buyer, thread_id=thread, user=guest)
    message = say(buyer, thread)
    where = {"thread_id": thread, "message_id": message.id, "body": "After you went"}
    other_process.do(remove_participant, buyer, thread_id=thread, user_id=guest.id)
    other_process.do(edit_message, buyer, **where)
    delivered.clear()

    edit_message(buyer, **where)
    assert not delivered.to(guest)
    assert delivered.to(buyer, "message.edited")


# --- Refusals


@pytest.mark.parametrize("change", [edit, remove])
def test_only_the_author_may_edit_or_remove(thread, buyer, seller, delivered, change):
    message = say(buyer, thread, "Mine")
    delivered.clear()
    assert refused(change, seller, message) == "MSG_NOT_EDITABLE"
    assert (stored(message).body, stored(message).removed_at) == ("Mine", None)
    assert thread_item(thread).rev == 0
    assert not delivered


def test_editing_ends_after_fifteen_minutes(thread, buyer):
    message = say(buyer, thread, "As it was")
    with later(minutes=14, seconds=55):
        edit(buyer, message, "In time")
    with later(minutes=15, seconds=5):
        assert refused(edit, buyer, message, "Too late") == "MSG_NOT_EDITABLE"
        # A repeat of an edit made in time is not refused.
        edit(buyer, message, "In time")
    assert stored(message).body == "In time"


def test_removing_and_reacting_have_no_time_limit(thread, buyer, seller):
    message = say(buyer, thread)
    with later(days=400):
        react(seller, message)
        remove(buyer, message)
    assert stored(message).removed_at


def test_a_removed_message_cannot_be_revised(thread, buyer, seller):
    message = say(buyer, thread, "Gone")
    remove(buyer, message)
    assert refused(edit, buyer, message) == "MSG_NOT_EDITABLE"
    assert refused(edit, buyer, message, "Gone") == "MSG_NOT_EDITABLE"
    assert refused(react, seller, message) == "MSG_NOT_EDITABLE"
    assert refused(remove, seller, message) == "MSG_NOT_EDITABLE"
    assert thread_item(thread).rev == 1


@ALL
def test_a_hidden_message_cannot_be_revised(thread, buyer, change):
    message = say(buyer, thread)
    message.update([Message.hidden_at.set("2026-05-04T09:30:00.125Z")])
    assert refused(change, buyer, message) == "MSG_NOT_EDITABLE"


@ALL
def test_a_system_message_cannot_be_revised(thread, buyer, person, change):
    add_friend(buyer, thread_id=thread, user=person("Gil"))
    assert refused(change, buyer, messages_of(thread)[-1]) == "MSG_NOT_EDITABLE"


@ALL
def test_a_locked_thread_refuses_revisions_with_a_stale_cache(thread, buyer, change):
    message = say(buyer, thread)
    thread_item(thread).update([Thread.status.set(LOCKED)])
    assert refused(change, buyer, message) == "THREAD_LOCKED"
    assert thread_item(thread).rev == 0


@ALL
def test_a_thread_on_hold_refuses_revisions(thread, buyer, change):
    message = say(buyer, thread)
    hold = Change(set={"soft_block": {"reason": "safety", "case": "case_1"}})
    update(thread_item(thread), hold, None)
    assert refused(change, buyer, message) == "SAFETY_SOFT_BLOCK"


@ALL
def test_a_block_refuses_revisions(thread, buyer, seller, change):
    message = say(buyer, thread)
    block_person(seller, blocked=buyer)
    assert refused(change, buyer, message) == "MSG_BLOCKED_BY_USER"


@ALL
@pytest.mark.parametrize("is_cached", [True, False])
def test_a_stranger_is_refused_like_for_a_missing_thread(
    thread, buyer, stranger, cold, change, is_cached
):
    message = say(buyer, thread)
    if not is_cached:
        cold(thread)
    missing = Message("THR#thrd_01JZZZZZZZZZZZZZZZZZZZZZZZ", message.sk)
    with count_requests() as requests_of_stranger, pytest.raises(Refusal) as refusal:
        change(stranger, message)
    with count_requests() as requests_of_missing, pytest.raises(Refusal) as not_found:
        change(stranger, missing)
    assert refusal.value.as_dict("") == not_found.value.as_dict("")
    assert refusal.value.code == "THREAD_NOT_FOUND"
    assert requests_of_stranger == requests_of_missing


@ALL
def test_a_missing_message_or_one_of_another_thread_is_not_found(thread, buyer, seller, change):
    message = say(buyer, thread)
    other = start(buyer, seller)
    missing = Message(message.pk, f"MSG#x#{NO_MESSAGE}")
    of_another = Message(message.pk, messages_of(other)[0].sk)
    assert refused(change, buyer, missing) == "THREAD_NOT_FOUND"
    assert refused(change, buyer, of_another) == "THREAD_NOT_FOUND"


@ALL
def test_an_earlier_message_is_not_found_by_a_new_participant(thread, buyer, person, change):
    message = say(buyer, thread)
    guest = person("Gil")
    add_friend(buyer, thread_id=thread, user=guest)
    assert refused(change, guest, message) == "THREAD_NOT_FOUND"


@ALL
def test_a_former_participant_may_not_revise_their_own_messages(
    thread, buyer, person, other_process, change
):
    guest = person("Gil")
    add_friend(buyer, thread_id=thread, user=guest)
    message = say(guest, thread)
    other_process.do(leave_thread, guest, thread_id=thread)
    assert refused(change, guest, message) == "THREAD_NOT_FOUND"
    # A message of another user is not found either, although the stale cache has the participant.
    assert refused(edit, guest, messages_of(thread)[0]) == "THREAD_NOT_FOUND"


@pytest.mark.parametrize("reaction", ["💩", "", "thumb", "👍🏽", "❤"])
def test_an_unsupported_reaction_is_refused(thread, buyer, reaction):
    (message,) = messages_of(thread)
    assert refused(react, buyer, message, reaction) == "BAD_FRAME"
    assert stored(message).reactions is None


@pytest.mark.parametrize(
    ("body", "code"), [("", "MSG_EMPTY"), (" \n ", "MSG_EMPTY"), ("x" * 8001, "MSG_TOO_LONG")]
)
def test_an_edit_has_the_limits_of_a_message(thread, buyer, body, code):
    message = say(buyer, thread, "As it is")
    assert refused(edit, buyer, message, body) == code
    assert stored(message).body == "As it is"


def test_the_number_of_edits_is_limited(thread, buyer):
    message = say(buyer, thread)
    bodies = [letter * 8000 for letter in "写真撮影会場予約日程変更確認"]
    given = []
    for body in bodies:
        try:
            edit(buyer, message, body)
        except Refusal as refusal:
            given.append(refusal.code)
    assert given
    assert set(given) == {"MSG_NOT_EDITABLE"}
    assert stored(message).body == bodies[len(bodies) - len(given) - 1]
    remove(buyer, message)
    assert_consistent(thread)


def test_a_reaction_of_many_users_is_stored(thread, buyer):
    people = [make_person(f"Guest{number}") for number in range(4)]
    for one in people:
        add_friend(buyer, thread_id=thread, user=one)
    message = say(buyer, thread)
    for one in people:
        react(one, message)
    assert stored(message).reactions == {THUMB: [one.id for one in people]}
    assert_consistent(thread)


# --- Cost


@ALL
def test_a_revision_costs_two_requests(thread, buyer, change):
    message = say(buyer, thread)
    with count_requests() as requests:
        change(buyer, message)
    assert requests == ["GetItem", "TransactWriteItems"]


def test_a_revised_reply_costs_one_more_request_and_one_more_cold(thread, buyer, cold):
    message = say(buyer, thread, "And June?", reply_to=messages_of(thread)[0].id)
    with count_requests() as requests:
        edit(buyer, message)
    assert len(requests) == 3
    cold(thread)
    with count_requests() as requests:
        edit(buyer, message, "And July?")
    assert len(requests) == 4


def test_earlier_texts_are_limited_and_the_next_edit_is_refused(thread, buyer):
    say(buyer, thread, LONG)
    message = messages_of(thread)[-1]
    fitting = MAX_HISTORY_BYTES // len(LONG.encode())
    for number in range(fitting):
        edit(buyer, message, f"{LONG}{number}")
    before = messages_of(thread)[-1]
    assert len(before.earlier_bodies) == fitting
    with pytest.raises(Refusal, match="edited too often"):
        edit(buyer, message, "Once more")
    after = messages_of(thread)[-1]
    assert (after.body, after.rev, after.earlier_bodies) == (
        before.body,
        before.rev,
        before.earlier_bodies,
    )
