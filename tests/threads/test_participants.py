"""Adding, removing and leaving: stored items, published events, refusals, and idempotency."""

import pytest

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
from threads.actions.folders import archive_thread
from threads.actions.participants import leave_thread, remove_participant
from threads.dynamodb import keys
from threads.dynamodb.change import Change
from threads.dynamodb.table import put_many
from threads.dynamodb.transactions import update
from threads.models import Draft, FormerParticipant, Participant, PendingAction, SentMarker, Thread
from threads.models.participant import ADMIN
from threads.models.thread import LOCKED, MAX_PARTICIPANTS
from threads.queries import open_thread


@pytest.fixture
def guest(person):
    return person("Gil")


@pytest.fixture
def trio(thread, buyer, seller, guest) -> str:
    add_friend(buyer, thread_id=thread, user=guest)
    return thread


def refused(action, *args, **kwargs) -> str:
    with pytest.raises(Refusal) as refusal:
        action(*args, **kwargs)
    return refusal.value.code


# --- Adding


def test_adding_writes_a_system_message_a_participant_and_a_new_roster(
    thread, buyer, seller, guest
):
    say(buyer, thread, "Not for them")
    add_friend(buyer, thread_id=thread, user=guest)

    message = messages_of(thread)[-1]
    assert (message.seq, message.tally, message.type) == (3, 2, "system")
    assert message.body == "Bea added Gil."
    assert message.author_id is None
    assert sorted(message.receiver_ids) == sorted([buyer.id, seller.id, guest.id])
    item = thread_item(thread)
    assert item.participants == [buyer.id, seller.id, guest.id]
    assert (item.roster_version, item.last_seq, item.last_tally) == (2, 3, 2)
    # A system message does not change who owes a reply.
    assert item.waiting_for == seller.id
    marker_sk = keys.sent_marker_sk("system", message.client_id)
    assert SentMarker.find(keys.thread_pk(thread), marker_sk).message_id == message.id
    assert_consistent(thread)


def test_a_new_participant_starts_at_the_system_message_that_added_them(
    thread, buyer, seller, guest
):
    before = say(buyer, thread, "Not for them")
    add_friend(buyer, thread_id=thread, user=guest)

    theirs = row(thread, guest)
    assert theirs.visible_from_seq == 3
    assert (theirs.last_read_seq, theirs.delivered_seq, theirs.last_read_tally) == (2, 2, 2)
    assert theirs.last_read_message_id == before.id
    assert (theirs.unread, theirs.unread_pk) == (0, None)
    assert theirs.first_undelivered_seq == 3
    assert theirs.pending_pk == keys.pending_pk(guest.id)
    assert theirs.last_message["text"] == "Bea added Gil."
    assert (theirs.role, theirs.folder, theirs.others_count) == ("buyer", "inbox", 2)
    assert theirs.other_side["name"] == "Bea"


def test_a_user_added_by_the_seller_has_the_role_seller(thread, seller, guest):
    add_friend(seller, thread_id=thread, user=guest)
    assert row(thread, guest).role == "seller"


def test_adding_is_published_to_all_participants(thread, buyer, seller, guest, delivered):
    add_friend(buyer, thread_id=thread, user=guest)

    for person in (buyer, seller, guest):
        (sent,) = delivered.to(person, "message.sent")
        assert (sent["message_type"], sent["author"]) == ("system", None)
        (changed,) = delivered.to(person, "thread.changed")
        assert [each["name"] for each in changed["roster"]] == ["Bea", "Sam", "Gil"]
        assert delivered.to(person, "inbox.changed")[0]["last_message"]["text"] == "Bea added Gil."
    assert delivered.to(guest, "inbox.changed")[0]["unread"] == 0


def test_adding_is_idempotent(trio, seller, guest, delivered):
    delivered.clear()
    add_friend(seller, thread_id=trio, user=guest)

    assert len(messages_of(trio)) == 2
    assert thread_item(trio).roster_version == 2
    assert not delivered


def test_a_new_participant_counts_only_later_messages(trio, buyer, seller, guest):
    say(buyer, trio)
    say(seller, trio)
    say(guest, trio)
    say(seller, trio)

    assert row(trio, guest).unread == 3
    assert_consistent(trio)
    read_newest(guest, trio)
    assert row(trio, guest).unread == 0
    assert_consistent(trio)


def test_buyer_and_seller_may_add_the_same_user_concurrently(
    thread, buyer, seller, guest, other_process, faults
):
    faults.run_before(
        "TransactWriteItems",
        lambda: other_process.do(add_friend, seller, thread_id=thread, user=guest),
    )
    add_friend(buyer, thread_id=thread, user=guest)

    assert [message.body for message in messages_of(thread)][1:] == ["Sam added Gil."]
    assert_consistent(thread)


def test_staff_may_add_participants(thread, buyer, seller, guest, person):
    moderator = person("Mo")
    add_friend(buyer, thread_id=thread, user=moderator)
    row(thread, moderator).update([Participant.role.set(ADMIN)])
    add_friend(moderator, thread_id=thread, user=guest)
    assert row(thread, guest) is not None


def test_only_the_two_principals_and_staff_add_and_remove(trio, guest, stranger, person):
    assert refused(add_friend, guest, thread_id=trio, user=stranger) == "ACTION_FORBIDDEN"
    other = person("Olga")
    add_participant_code = refused(add_friend, stranger, thread_id=trio, user=other)
    assert add_participant_code == "THREAD_NOT_FOUND"
    for actor, code in ((guest, "ACTION_FORBIDDEN"), (stranger, "THREAD_NOT_FOUND")):
        assert refused(remove_participant, actor, thread_id=trio, user_id=guest.id) == code
    assert len(messages_of(trio)) == 2


def test_a_user_with_a_block_cannot_be_added(thread, buyer, guest):
    block_person(guest, blocked=buyer)
    assert refused(add_friend, buyer, thread_id=thread, user=guest) == "ACTION_FORBIDDEN"
    assert row(thread, guest) is None


def test_two_who_blocked_each_other_cannot_add_a_third(thread, buyer, seller, guest):
    block_person(seller, blocked=buyer)
    for actor in (buyer, seller):
        assert refused(add_friend, actor, thread_id=thread, user=guest) == "MSG_BLOCKED_BY_USER"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (Change(set={"status": LOCKED}), "THREAD_LOCKED"),
        (Change(set={"soft_block": {"reason": "safety"}}), "SAFETY_SOFT_BLOCK"),
    ],
)
def test_participants_cannot_change_in_a_locked_or_held_thread(
    trio, buyer, guest, stranger, change, code
):
    update(thread_item(trio), change, None)
    assert refused(add_friend, buyer, thread_id=trio, user=stranger) == code
    assert refused(remove_participant, buyer, thread_id=trio, user_id=guest.id) == code
    assert refused(leave_thread, guest, thread_id=trio) == code
    assert len(messages_of(trio)) == 2


@pytest.fixture
def full_thread(thread, buyer, seller) -> str:
    """A thread with the maximum number of participants, written in bulk."""
    model = row(thread, seller)
    guests = []
    for number in range(MAX_PARTICIPANTS - 2):
        user_id = f"usr_{number:026d}"
        guest = model.copy()
        guest.sk = keys.participant_sk(user_id)
        guest.person = model.person | {"id": user_id, "name": f"Guest {number}"}
        guest.inbox_pk = keys.inbox_pk(user_id, "inbox")
        guest.pending_pk, guest.unread_pk = keys.pending_pk(user_id), keys.unread_pk(user_id)
        guest.others_count = MAX_PARTICIPANTS - 1
        guests.append(guest)
    put_many(guests)
    item = thread_item(thread)
    user_ids = [buyer.id, seller.id, *(guest.user_id for guest in guests)]
    item.update([Thread.participants.set(user_ids), Thread.roster_version.set(9)])
    for person in (buyer, seller):
        row(thread, person).update([Participant.others_count.set(MAX_PARTICIPANTS - 1)])
    return thread


def test_a_thread_has_at_most_fifty_participants(full_thread, buyer, seller, guest, stranger):
    assert len(open_thread(buyer, full_thread).cached.people) == 50
    assert refused(add_friend, buyer, thread_id=full_thread, user=guest) == "ACTION_FORBIDDEN"
    say(seller, full_thread, "To everybody")
    assert_consistent(full_thread)

    remove_participant(buyer, thread_id=full_thread, user_id=f"usr_{7:026d}")
    add_friend(buyer, thread_id=full_thread, user=guest)
    assert row(full_thread, guest).others_count == 49
    assert_consistent(full_thread)
    assert refused(add_friend, buyer, thread_id=full_thread, user=stranger) == "ACTION_FORBIDDEN"


# --- Removing


def test_removing_deletes_the_participant_and_their_items(trio, buyer, seller, guest):
    pk = keys.user_pk(guest.id)
    other = start(guest, seller)
    at = messages_of(trio)[-1].created_at
    put_many(
        [
            Draft(pk, keys.draft_sk(trio), text="I was", version=1, updated_at=at),
            Draft(pk, keys.draft_sk(other), text="Elsewhere", version=1, updated_at=at),
            PendingAction(pk, keys.pending_action_sk(trio, "msg_1"), type="extras", created_at=at),
            PendingAction(pk, keys.pending_action_sk(trio, "msg_2"), type="extras", created_at=at),
            PendingAction(pk, keys.pending_action_sk(other, "msg_3"), type="extras", created_at=at),
        ]
    )
    remove_participant(buyer, thread_id=trio, user_id=guest.id)

    assert row(trio, guest) is None
    assert thread_item(trio).participants == [buyer.id, seller.id]
    assert thread_item(trio).roster_version == 3
    assert Draft.find(pk, keys.draft_sk(trio)) is None
    for message in ("msg_1", "msg_2"):
        assert PendingAction.find(pk, keys.pending_action_sk(trio, message)) is None
    assert Draft.find(pk, keys.draft_sk(other)) is not None
    assert PendingAction.find(pk, keys.pending_action_sk(other, "msg_3")) is not None
    message = messages_of(trio)[-1]
    assert message.body == "Bea removed Gil."
    assert sorted(message.receiver_ids) == sorted([buyer.id, seller.id])
    assert_consistent(trio)


def test_removal_is_published_to_all_and_ends_the_thread_for_the_removed_user(
    trio, buyer, seller, guest, delivered
):
    delivered.clear()
    remove_participant(buyer, thread_id=trio, user_id=guest.id)
    say(seller, trio)

    for person in (buyer, seller):
        assert len(delivered.to(person, "message.sent")) == 2
        (changed,) = delivered.to(person, "thread.changed")
        assert [each["name"] for each in changed["roster"]] == ["Bea", "Sam"]
    assert_receives_only_the_removal(guest, delivered)


def assert_receives_only_the_removal(guest, delivered):
    left, row_removed = delivered.to(guest)
    assert (left["type"], left["status"], left["roster"]) == ("thread.changed", "left", [])
    assert (row_removed["type"], row_removed["folder"]) == ("inbox.changed", "")


def test_messages_of_a_removed_participant_keep_their_name(trio, buyer, guest, cold):
    say(guest, trio, "I was here")
    remove_participant(buyer, thread_id=trio, user_id=guest.id)

    past = FormerParticipant.find(keys.thread_pk(trio), keys.former_participant_sk(guest.id))
    assert past.person["name"] == "Gil"
    assert open_thread(buyer, trio).cached.get_person(guest.id)["name"] == "Gil"
    cold(trio)
    opened = open_thread(buyer, trio)
    assert opened.cached.get_person(guest.id)["name"] == "Gil"
    assert [m.body for m in opened.messages if m.author_id == guest.id] == ["I was here"]


def test_removing_is_idempotent(trio, buyer, seller, guest, delivered):
    remove_participant(buyer, thread_id=trio, user_id=guest.id)
    delivered.clear()
    remove_participant(seller, thread_id=trio, user_id=guest.id)
    assert len(messages_of(trio)) == 3
    assert not delivered


def test_the_two_principals_cannot_be_removed(trio, buyer, seller):
    for actor, other in ((buyer, seller), (seller, buyer), (buyer, buyer)):
        code = refused(remove_participant, actor, thread_id=trio, user_id=other.id)
        assert code == "ACTION_FORBIDDEN"
    assert len(messages_of(trio)) == 2


def test_a_removed_participant_has_no_access(trio, buyer, guest):
    remove_participant(buyer, thread_id=trio, user_id=guest.id)
    for action in (
        lambda: say(guest, trio),
        lambda: open_thread(guest, trio),
        lambda: leave_thread(guest, thread_id=trio),
        lambda: archive_thread(guest, thread_id=trio),
        lambda: read_newest(guest, trio),
    ):
        assert refused(action) == "THREAD_NOT_FOUND"
    assert row(trio, guest) is None


def test_a_rejoined_participant_sees_only_later_messages(trio, buyer, seller, guest):
    say(buyer, trio, "While they were in")
    remove_participant(buyer, thread_id=trio, user_id=guest.id)
    say(buyer, trio, "While they were out")
    add_friend(seller, thread_id=trio, user=guest)
    say(buyer, trio, "Welcome back")

    assert [m.body for m in open_thread(guest, trio).messages] == [
        "Sam added Gil.",
        "Welcome back",
    ]
    assert row(trio, guest).unread == 1
    assert_consistent(trio)


# --- Leaving


def test_leaving_is_published_to_the_remaining_participants(trio, buyer, seller, guest, delivered):
    delivered.clear()
    leave_thread(guest, thread_id=trio)

    assert row(trio, guest) is None
    assert messages_of(trio)[-1].body == "Gil left."
    assert len(delivered.to(seller, "thread.changed")) == 1
    assert_receives_only_the_removal(guest, delivered)
    assert thread_item(trio).participants == [buyer.id, seller.id]
    assert_consistent(trio)


def test_leaving_twice_is_refused(trio, guest):
    leave_thread(guest, thread_id=trio)
    assert refused(leave_thread, guest, thread_id=trio) == "THREAD_NOT_FOUND"
    assert len(messages_of(trio)) == 3


def test_a_stranger_cannot_leave(thread, stranger):
    assert refused(leave_thread, stranger, thread_id=thread) == "THREAD_NOT_FOUND"


def test_a_blocked_participant_can_leave(thread, buyer, seller):
    block_person(seller, blocked=buyer)
    leave_thread(buyer, thread_id=thread)
    assert row(thread, buyer) is None
    assert_consistent(thread)


def test_the_last_participant_can_leave(thread, buyer, seller):
    leave_thread(buyer, thread_id=thread)
    leave_thread(seller, thread_id=thread)
    assert thread_item(thread).participants == []
    assert [m.body for m in messages_of(thread)][1:] == ["Bea left.", "Sam left."]


# --- Rows of the remaining participants


def test_an_archived_row_restored_by_a_system_message_is_listed_as_unread(
    thread, buyer, seller, guest
):
    say(buyer, thread, "Unread when it was archived")
    archive_thread(seller, thread_id=thread)
    assert row(thread, seller).unread_pk is None

    add_friend(buyer, thread_id=thread, user=guest)

    assert (row(thread, seller).folder, row(thread, seller).unread) == ("inbox", 2)
    assert row(thread, seller).unread_pk == keys.unread_pk(seller.id)
    assert_consistent(thread)


def test_sending_in_an_archived_unread_thread_lists_it_as_unread(thread, buyer, seller):
    archive_thread(seller, thread_id=thread)
    say(seller, thread, seen_seq=0)

    assert (row(thread, seller).folder, row(thread, seller).unread) == ("inbox", 1)
    assert_consistent(thread)


def test_a_group_of_twelve_is_consistent_after_all_kinds_of_change(buyer, seller):
    thread = start(buyer, seller)
    guests = [make_person(f"Guest{number}") for number in range(10)]
    for guest in guests:
        add_friend(buyer, thread_id=thread, user=guest)
        say(guest, thread)
    for guest in guests[:3]:
        remove_participant(buyer, thread_id=thread, user_id=guest.id)
    for guest in guests[3:5]:
        leave_thread(guest, thread_id=thread)
    add_friend(seller, thread_id=thread, user=guests[0])
    say(buyer, thread)

    assert len(thread_item(thread).participants) == 8
    assert thread_item(thread).roster_version == 1 + 10 + 3 + 2 + 1
    assert_consistent(thread)
