"""Editing, removing, reacting: what is stored, who is told, who is refused, what a repeat does."""

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
# Four bytes each in UTF-8: the bound of earlier texts is in bytes.
LONG = "𝕏" * (MAX_BODY_LENGTH - 1)
NO_MESSAGE = "msg_01JZZZZZZZZZZZZZZZZZZZZZZZ"


def edit(user, message: Message, body: str = "Otherwise") -> None:
    edit_message(user, thread_id=message.thread_id, message_id=message.id, body=body)


def remove(user, message: Message) -> None:
    remove_message(user, thread_id=message.thread_id, message_id=message.id)


def give(user, message: Message, reaction: str = THUMB, *, on: bool = True) -> None:
    set_reaction(user, thread_id=message.thread_id, message_id=message.id, reaction=reaction, on=on)


def stored(message: Message) -> Message:
    return Message.find(message.pk, message.sk)


def refused(action, *args, **kwargs) -> str:
    with pytest.raises(Refusal) as refusal:
        action(*args, **kwargs)
    return refusal.value.code


def later(**length: float) -> time_machine.travel:
    return time_machine.travel(datetime.now(UTC) + timedelta(**length))


# Every way to change a message that is one's own.
ALL = pytest.mark.parametrize("change", [edit, remove, give], ids=["edit", "remove", "react"])
KIND = {edit: "message.edited", remove: "message.removed", give: "message.reacted"}


# --- What is stored


def test_an_edit_keeps_what_it_said_before(thread, buyer):
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


def test_a_removal_keeps_all_of_it_for_staff_and_shows_none(thread, buyer, seller):
    message = say(buyer, thread, "A mistake")
    edit(buyer, message, "Still a mistake")
    give(seller, message)
    remove(buyer, message)

    now = stored(message)
    assert now.removed_at
    assert (now.body, now.rev) == ("Still a mistake", 3)
    assert now.earlier_bodies[0]["body"] == "A mistake"
    assert now.reactions == {THUMB: [seller.id]}
    assert now.is_withheld
    assert_consistent(thread)


def test_reactions_are_kept_by_who_gave_them(thread, buyer, seller):
    (message,) = messages_of(thread)
    give(buyer, message)
    give(seller, message)
    give(seller, message, HEART)
    assert stored(message).reactions == {THUMB: [buyer.id, seller.id], HEART: [seller.id]}

    give(seller, message, on=False)
    give(seller, message, HEART, on=False)
    assert stored(message).reactions == {THUMB: [buyer.id]}
    assert stored(message).edited_at is None
    assert_consistent(thread)


@pytest.mark.parametrize("reaction", REACTIONS)
def test_takes_every_reaction_of_the_set(thread, buyer, reaction):
    (message,) = messages_of(thread)
    give(buyer, message, reaction)
    assert stored(message).reactions == {reaction: [buyer.id]}


@ALL
def test_adds_one_to_the_thread_and_stamps_the_message(thread, buyer, change):
    message = say(buyer, thread)
    say(buyer, thread)
    change(buyer, message)
    assert (thread_item(thread).rev, stored(message).rev) == (1, 1)
    give(buyer, message, HEART) if change is not remove else edit(buyer, messages_of(thread)[-1])
    assert thread_item(thread).rev == 2
    assert_consistent(thread)


@ALL
def test_no_message_is_new_or_unread_because_of_it(thread, buyer, seller, change):
    message = say(buyer, thread)
    read_newest(seller, thread)
    change(buyer, message)
    theirs = row(thread, seller)
    assert (theirs.unread, theirs.unread_pk, theirs.pending_pk) == (0, None, None)
    assert thread_item(thread).last_seq == message.seq
    assert_consistent(thread)


def test_the_thread_and_all_rows_show_the_newest_as_it_is_now(thread, buyer, seller):
    message = say(buyer, thread, "First")
    edit(buyer, message, "**Second** " + "x" * 200)
    shown = {"author": buyer.id, "type": "text", "text": ("Second " + "x" * 200)[:140]}
    assert thread_item(thread).last_message == shown
    assert row(thread, buyer).last_message == row(thread, seller).last_message == shown

    remove(buyer, message)
    gone = shown | {"text": "Message removed"}
    assert thread_item(thread).last_message == gone
    assert row(thread, buyer).last_message == row(thread, seller).last_message == gone
    assert_consistent(thread)


def test_an_older_one_leaves_thread_and_rows_as_they_are(thread, buyer, seller):
    message = say(buyer, thread, "First")
    say(seller, thread, "The newest")
    edit(buyer, message)
    remove(buyer, message)
    assert thread_item(thread).last_message["text"] == "The newest"
    assert row(thread, buyer).last_message["text"] == "The newest"
    assert_consistent(thread)


def test_what_is_sent_after_an_edit_is_the_newest(thread, buyer, seller):
    edit(buyer, messages_of(thread)[0])
    say(seller, thread, "Then this")
    assert thread_item(thread).last_message["text"] == "Then this"
    assert thread_item(thread).rev == 1
    assert_consistent(thread)


# --- Who is told


@ALL
def test_everybody_is_told_with_the_fragment_of_a_fresh_page(
    thread, buyer, seller, delivered, cold, change
):
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


def test_a_change_of_an_answer_still_shows_what_it_answers(thread, buyer, seller, delivered):
    (first,) = messages_of(thread)
    message = say(seller, thread, "Yes", reply_to=first.id)
    edit(seller, message, "No")
    (event,) = delivered.to(buyer, "message.edited")
    assert "Are you free in May?" in event["html"]


def test_a_removed_message_is_told_without_its_text(thread, buyer, seller, delivered):
    message = say(buyer, thread, "Unforgettable")
    give(seller, message)
    delivered.clear()
    remove(buyer, message)
    for person in (buyer, seller):
        assert "Unforgettable" not in str(delivered.to(person))
        assert "data-react=" not in delivered.to(person, "message.removed")[0]["html"]


@pytest.mark.parametrize("change", [edit, remove])
def test_inboxes_are_told_if_it_was_the_newest_and_only_then(
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


def test_whoever_came_later_does_not_hear_of_what_they_cannot_see(thread, buyer, person, delivered):
    message = say(buyer, thread, "Before you came")
    guest = person("Gil")
    add_friend(buyer, thread_id=thread, user=guest)
    edit(buyer, message, "Still not for you")
    assert "not for you" not in str(delivered.to(guest))


# --- A repeat


@ALL
def test_a_repeat_changes_nothing(thread, buyer, seller, change):
    message = say(buyer, thread)
    change(buyer, message)
    give(seller, message) if change is give else None
    before, rev = stored(message), thread_item(thread).rev
    change(buyer, message)
    assert stored(message).serialize() == before.serialize()
    assert thread_item(thread).rev == rev
    assert_consistent(thread)


def test_taking_back_what_was_not_given_changes_nothing(thread, buyer):
    (message,) = messages_of(thread)
    give(buyer, message, on=False)
    assert thread_item(thread).rev == 0


def test_an_edit_that_changes_nothing_is_none(thread, buyer):
    message = say(buyer, thread, "As it is")
    edit(buyer, message, " As it is ")
    assert stored(message).edited_at is None
    assert thread_item(thread).rev == 0


def test_a_repeat_in_a_process_that_knows_less_is_not_told_to_whoever_has_gone(
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


# --- Who is refused


@pytest.mark.parametrize("change", [edit, remove])
def test_only_the_author_may(thread, buyer, seller, delivered, change):
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
        # A repeat of what was done in time is no refusal.
        edit(buyer, message, "In time")
    assert stored(message).body == "In time"


def test_removing_and_reacting_have_no_end(thread, buyer, seller):
    message = say(buyer, thread)
    with later(days=400):
        give(seller, message)
        remove(buyer, message)
    assert stored(message).removed_at


def test_what_was_removed_stays_as_it_was(thread, buyer, seller):
    message = say(buyer, thread, "Gone")
    remove(buyer, message)
    assert refused(edit, buyer, message) == "MSG_NOT_EDITABLE"
    assert refused(edit, buyer, message, "Gone") == "MSG_NOT_EDITABLE"
    assert refused(give, seller, message) == "MSG_NOT_EDITABLE"
    assert refused(remove, seller, message) == "MSG_NOT_EDITABLE"
    assert thread_item(thread).rev == 1


@ALL
def test_what_staff_have_hidden_stays_as_it_is(thread, buyer, change):
    message = say(buyer, thread)
    message.update([Message.hidden_at.set("2026-05-04T09:30:00.125Z")])
    assert refused(change, buyer, message) == "MSG_NOT_EDITABLE"


@ALL
def test_a_line_of_the_service_is_nobodys(thread, buyer, person, change):
    add_friend(buyer, thread_id=thread, user=person("Gil"))
    assert refused(change, buyer, messages_of(thread)[-1]) == "MSG_NOT_EDITABLE"


@ALL
def test_not_in_a_locked_thread_even_if_this_process_thinks_it_open(thread, buyer, change):
    message = say(buyer, thread)
    thread_item(thread).update([Thread.status.set(LOCKED)])
    assert refused(change, buyer, message) == "THREAD_LOCKED"
    assert thread_item(thread).rev == 0


@ALL
def test_not_in_a_thread_on_hold(thread, buyer, change):
    message = say(buyer, thread)
    hold = Change(set={"soft_block": {"reason": "safety", "case": "case_1"}})
    update(thread_item(thread), hold, None)
    assert refused(change, buyer, message) == "SAFETY_SOFT_BLOCK"


@ALL
def test_not_between_two_who_blocked_each_other(thread, buyer, seller, change):
    message = say(buyer, thread)
    block_person(seller, blocked=buyer)
    assert refused(change, buyer, message) == "MSG_BLOCKED_BY_USER"


@ALL
@pytest.mark.parametrize("believes", [True, False])
def test_a_stranger_is_told_the_same_as_of_a_thread_that_is_none(
    thread, buyer, stranger, cold, change, believes
):
    message = say(buyer, thread)
    if not believes:
        cold(thread)
    nowhere = Message("THR#thrd_01JZZZZZZZZZZZZZZZZZZZZZZZ", message.sk)
    with count_requests() as asked_for_theirs, pytest.raises(Refusal) as theirs:
        change(stranger, message)
    with count_requests() as asked_for_none, pytest.raises(Refusal) as none:
        change(stranger, nowhere)
    assert theirs.value.as_dict("") == none.value.as_dict("")
    assert theirs.value.code == "THREAD_NOT_FOUND"
    assert asked_for_theirs == asked_for_none


@ALL
def test_a_message_that_is_not_there_or_not_here_is_none(thread, buyer, seller, change):
    message = say(buyer, thread)
    other = start(buyer, seller)
    nowhere = Message(message.pk, f"MSG#x#{NO_MESSAGE}")
    of_another = Message(message.pk, messages_of(other)[0].sk)
    assert refused(change, buyer, nowhere) == "THREAD_NOT_FOUND"
    assert refused(change, buyer, of_another) == "THREAD_NOT_FOUND"


@ALL
def test_what_was_said_before_somebody_came_is_none_to_them(thread, buyer, person, change):
    message = say(buyer, thread)
    guest = person("Gil")
    add_friend(buyer, thread_id=thread, user=guest)
    assert refused(change, guest, message) == "THREAD_NOT_FOUND"


@ALL
def test_whoever_has_left_may_not_change_even_their_own(
    thread, buyer, person, other_process, change
):
    guest = person("Gil")
    add_friend(buyer, thread_id=thread, user=guest)
    message = say(guest, thread)
    other_process.do(leave_thread, guest, thread_id=thread)
    assert refused(change, guest, message) == "THREAD_NOT_FOUND"
    # Of another's message they hear no more, though this process still believes they are there.
    assert refused(edit, guest, messages_of(thread)[0]) == "THREAD_NOT_FOUND"


@pytest.mark.parametrize("reaction", ["💩", "", "thumb", "👍🏽", "❤"])
def test_a_reaction_of_ones_own_making_is_refused(thread, buyer, reaction):
    (message,) = messages_of(thread)
    assert refused(give, buyer, message, reaction) == "BAD_FRAME"
    assert stored(message).reactions is None


@pytest.mark.parametrize(
    ("body", "code"), [("", "MSG_EMPTY"), (" \n ", "MSG_EMPTY"), ("x" * 8001, "MSG_TOO_LONG")]
)
def test_an_edit_has_the_limits_of_a_message(thread, buyer, body, code):
    message = say(buyer, thread, "As it is")
    assert refused(edit, buyer, message, body) == code
    assert stored(message).body == "As it is"


def test_editing_without_end_is_refused_before_the_item_is_full(thread, buyer):
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


def test_a_reaction_of_many_people_is_kept(thread, buyer):
    people = [make_person(f"Guest{number}") for number in range(4)]
    for one in people:
        add_friend(buyer, thread_id=thread, user=one)
    message = say(buyer, thread)
    for one in people:
        give(one, message)
    assert stored(message).reactions == {THUMB: [one.id for one in people]}
    assert_consistent(thread)


# --- What it costs


@ALL
def test_costs_two_requests(thread, buyer, change):
    message = say(buyer, thread)
    with count_requests() as requests:
        change(buyer, message)
    assert requests == ["GetItem", "TransactWriteItems"]


def test_costs_one_more_if_it_quotes_and_one_more_cold(thread, buyer, cold):
    message = say(buyer, thread, "And June?", reply_to=messages_of(thread)[0].id)
    with count_requests() as requests:
        edit(buyer, message)
    assert len(requests) == 3
    cold(thread)
    with count_requests() as requests:
        edit(buyer, message, "And July?")
    assert len(requests) == 4


def test_earlier_texts_are_kept_up_to_a_bound_and_the_next_edit_is_refused(thread, buyer):
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
