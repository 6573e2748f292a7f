"""A user joins a thread only with their consent."""

from datetime import timedelta

import pytest
import time_machine
from asgiref.sync import async_to_sync
from django.urls import reverse
from django.utils import timezone

from core.outbox.processing import process_due
from core.refusals import Refusal
from inbox.queries import count_rows, get_row, list_folder
from privacy.actions import delete_account
from tests.threads.checker import assert_consistent
from tests.threads.conftest import (
    ask,
    befriend,
    make_person,
    messages_of,
    read_newest,
    row,
    say,
    thread_item,
)
from threads import cache
from threads.actions.blocks import block_person, unblock_person
from threads.actions.folders import archive_thread, restore_thread
from threads.actions.participants import ADDED, INVITED, add_participant, leave_thread
from threads.actions.requests import accept_request, decline_request
from threads.dynamodb import keys
from threads.dynamodb.table import put_many
from threads.dynamodb.transactions import Transaction
from threads.models import Invitation, Pair
from threads.models.thread import MAX_PARTICIPANTS
from threads.queries import list_pending, open_thread

pytestmark = pytest.mark.storage


@pytest.fixture
def guest(db):
    return make_person("Gil")


@pytest.fixture
def friend(buyer, guest):
    """A user with whom the buyer has an accepted thread."""
    befriend(buyer, guest)
    return guest


def refused(action, *args, **kwargs) -> Refusal:
    with pytest.raises(Refusal) as refusal:
        action(*args, **kwargs)
    return refusal.value


def test_a_user_without_an_accepted_thread_is_invited_and_not_added(thread, buyer, guest):
    add_participant(buyer, thread_id=thread, user=guest)
    assert row(thread, guest) is None
    assert guest.id not in thread_item(thread).participants


def test_blocks_are_checked_against_every_participant(thread, buyer, seller, friend):
    block_person(friend, blocked=seller)
    refusal = refused(add_participant, buyer, thread_id=thread, user=friend)
    assert refusal.code == "ACTION_FORBIDDEN"
    assert refusal.message == "You can't add Gil to this conversation."
    assert (row(thread, friend), len(messages_of(thread))) == (None, 1)

    unblock_person(friend, blocked=seller)
    add_participant(buyer, thread_id=thread, user=friend)
    assert row(thread, friend) is not None


@pytest.mark.parametrize("is_friend", [True, False])
def test_a_block_made_while_a_user_is_added_is_not_missed(
    thread, buyer, seller, guest, is_friend, faults
):
    if is_friend:
        befriend(buyer, guest)
    faults.run_before("TransactWriteItems", lambda: block_person(guest, blocked=seller))
    refusal = refused(add_participant, buyer, thread_id=thread, user=guest)
    assert refusal.code == "ACTION_FORBIDDEN"
    assert (row(thread, guest), len(messages_of(thread))) == (None, 1)


def test_requirements_for_first_messages_apply_to_invitations(thread, buyer, guest):
    for requires in ("requires_verified", "requires_date", "requires_budget"):
        setattr(guest, requires, True)
        guest.save()
        refusal = refused(add_participant, buyer, thread_id=thread, user=guest)
        assert refusal.code == "MSG_GATE_REQUIRED"
        setattr(guest, requires, False)


def test_an_invitation_counts_toward_the_limit_of_new_threads(thread, buyer, settings):
    settings.START_LIMITS = (2, 20)
    for number in range(2):
        add_participant(buyer, thread_id=thread, user=make_person(f"Guest{number}"))
    third = make_person("Third")
    assert refused(add_participant, buyer, thread_id=thread, user=third).code == "RATE_LIMITED"
    befriend(buyer, third)
    add_participant(buyer, thread_id=thread, user=third)


# --- Invitations


@pytest.fixture
def invited(thread, buyer, guest) -> str:
    assert add_participant(buyer, thread_id=thread, user=guest) == INVITED
    return thread


def invitation(thread, user) -> Invitation | None:
    return Invitation.find(keys.thread_pk(thread), keys.invitation_sk(user.id))


def test_an_invitation_is_a_request_that_shows_no_messages(invited, guest, client):
    (found,) = list_folder(guest, "requests").rows
    assert (found.thread_id, found.other_side["name"]) == (invited, "Bea")
    assert found.last_message["text"] == "Invited you to this conversation."
    assert (count_rows(guest)["requests"], found.unread) == (1, 0)
    assert get_row(guest, invited).request_state == "pending"
    assert list_folder(guest, "inbox").rows == []
    assert async_to_sync(list_pending)(guest) == ([], False)

    client.force_login(guest)
    page = client.get(reverse("threads:thread", args=[invited])).content.decode()
    assert "Bea invited you to a conversation" in page
    assert "Sam" in page
    assert "Are you free in May?" not in page


def test_participants_see_who_is_invited(invited, buyer, seller, client):
    assert messages_of(invited)[-1].body == "Bea invited Gil."
    for user in (buyer, seller):
        client.force_login(user)
        page = client.get(reverse("threads:thread", args=[invited])).content.decode()
        assert "data-invited" in page
    assert_consistent(invited)


def test_an_invited_user_receives_no_events_and_can_do_nothing_in_the_thread(
    thread, buyer, seller, guest, delivered
):
    add_participant(buyer, thread_id=thread, user=guest)
    say(seller, thread, "Not for Gil")
    read_newest(buyer, thread)

    (event,) = delivered.to(guest)
    assert (event["type"], event["folder"], event["request"]) == ("inbox.changed", "requests", True)
    assert "Not for Gil" not in str(event)
    for action in (
        lambda: say(guest, thread),
        lambda: open_thread(guest, thread),
        lambda: read_newest(guest, thread),
        lambda: leave_thread(guest, thread_id=thread),
    ):
        assert refused(action).code == "THREAD_NOT_FOUND"
    for event in (each for _, each in delivered if each["type"] == "thread.changed"):
        assert guest.id not in [person["id"] for person in event["roster"]]


def test_accepting_joins_without_earlier_messages(invited, buyer, seller, guest, delivered):
    say(seller, invited, "Before they came")
    accept_request(guest, thread_id=invited)

    assert messages_of(invited)[-1].body == "Gil joined."
    assert [m.body for m in open_thread(guest, invited).messages] == ["Gil joined."]
    assert invitation(invited, guest) is None
    assert row(invited, guest).role == "buyer"
    assert Pair.find(keys.pair_pk(buyer.id, guest.id), keys.STATE).accepted
    assert not Pair.find(keys.pair_pk(seller.id, guest.id), keys.STATE)
    assert len(delivered.to(seller, "thread.changed")) == 1
    say(guest, invited)
    accept_request(guest, thread_id=invited)
    assert_consistent(invited)


def test_declining_is_silent_and_prevents_another_invitation(
    invited, buyer, guest, delivered, client
):
    delivered.clear()
    lines = len(messages_of(invited))
    client.force_login(guest)
    client.post(reverse("threads:decline", args=[invited]))

    assert list_folder(guest, "requests").rows == []
    assert {user for user, _ in delivered} == {guest.id}
    assert len(messages_of(invited)) == lines
    client.force_login(buyer)
    assert "data-invited" in client.get(reverse("threads:thread", args=[invited])).content.decode()
    delivered.clear()
    add_participant(buyer, thread_id=invited, user=guest)
    assert (list_folder(guest, "requests").rows, list(delivered)) == ([], [])
    other = ask(buyer, make_person("Olga"))
    assert refused(add_participant, buyer, thread_id=other, user=guest).code == "REQUEST_PENDING"


def test_declining_with_a_block_stops_the_inviter(invited, buyer, guest, client):
    client.force_login(guest)
    client.post(reverse("threads:decline", args=[invited]), {"also": "block"})
    assert refused(ask, buyer, guest).code == "REQUEST_PENDING"
    refusal = refused(accept_request, guest, thread_id=invited)
    assert (refusal.code, refusal.hint) == ("ACTION_FORBIDDEN", "Unblock Bea to join.")


def test_a_connection_cannot_add_a_user_who_declined(invited, seller, guest):
    befriend(seller, guest)
    decline_request(guest, thread_id=invited)
    add_participant(seller, thread_id=invited, user=guest)
    assert row(invited, guest) is None


def test_an_invitation_expires_and_can_be_made_again(invited, buyer, guest):
    with time_machine.travel(timezone.now() + timedelta(days=15)):
        assert list_folder(guest, "requests").rows == []
        assert refused(accept_request, guest, thread_id=invited).code == "ACTION_FORBIDDEN"
        assert add_participant(buyer, thread_id=invited, user=guest) == INVITED
        accept_request(guest, thread_id=invited)
        assert_consistent(invited)


def test_a_user_who_left_is_invited_before_they_rejoin(thread, buyer, friend):
    assert add_participant(buyer, thread_id=thread, user=friend) == ADDED
    leave_thread(friend, thread_id=thread)
    assert add_participant(buyer, thread_id=thread, user=friend) == INVITED
    assert row(thread, friend) is None
    accept_request(friend, thread_id=thread)
    assert row(thread, friend) is not None
    assert_consistent(thread)


def test_an_invitation_cannot_be_accepted_after_a_block(invited, buyer, seller, guest, faults):
    faults.run_before("TransactWriteItems", lambda: block_person(seller, blocked=guest))
    refusal = refused(accept_request, guest, thread_id=invited)
    assert (refusal.code, refusal.message) == (
        "ACTION_FORBIDDEN",
        "You can't join this conversation.",
    )
    assert row(invited, guest) is None
    unblock_person(seller, blocked=guest)
    accept_request(guest, thread_id=invited)
    assert row(invited, guest) is not None


def test_concurrent_accept_and_decline_apply_one_of_them(invited, guest, faults):
    faults.run_before(
        "TransactWriteItems", lambda: decline_request(guest, thread_id=invited, as_spam=True)
    )
    accept_request(guest, thread_id=invited)
    assert (invitation(invited, guest), row(invited, guest).folder) == (None, "inbox")
    decline_request(guest, thread_id=invited)
    assert row(invited, guest) is not None
    assert_consistent(invited)


def test_an_invitation_can_be_archived_and_restored(invited, guest):
    archive_thread(guest, thread_id=invited)
    assert [r.thread_id for r in list_folder(guest, "archived").rows] == [invited]
    restore_thread(guest, thread_id=invited)
    assert [r.thread_id for r in list_folder(guest, "requests").rows] == [invited]
    assert_consistent(invited)


def test_a_deleted_account_leaves_no_name_in_invitations(invited, buyer, guest):
    delete_account(guest)
    process_due()
    assert invitation(invited, guest) is None
    assert "Gil" not in str([message.body for message in messages_of(invited)])


# --- Full threads


@pytest.fixture
def almost_full(thread, buyer, seller) -> str:
    """A thread with room for one more participant."""
    model = row(thread, seller)
    people = []
    for number in range(MAX_PARTICIPANTS - 3):
        person = model.copy()
        user_id = f"usr_{number:026d}"
        person.sk = keys.participant_sk(user_id)
        person.person = model.person | {"id": user_id, "name": f"Guest {number}"}
        person.inbox_pk = keys.inbox_pk(user_id, "inbox")
        person.pending_pk, person.unread_pk = keys.pending_pk(user_id), keys.unread_pk(user_id)
        people.append(person)
    put_many(people)
    item = thread_item(thread)
    item.participants = [buyer.id, seller.id, *(person.user_id for person in people)]
    put_many([item])
    cache.invalidate(thread)
    return thread


@pytest.mark.parametrize("is_friend", [True, False])
def test_the_last_participant_fits_into_one_transaction(
    almost_full, buyer, seller, guest, is_friend, monkeypatch
):
    """The transaction checks all 49 others and stays far below the limit of 100 items."""
    sizes = []
    commit = Transaction.commit
    monkeypatch.setattr(
        Transaction, "commit", lambda self: (sizes.append(len(self.items)), commit(self))[1]
    )
    if is_friend:
        befriend(buyer, guest)
    add_participant(buyer, thread_id=almost_full, user=guest)
    if not is_friend:
        accept_request(guest, thread_id=almost_full)
    assert row(almost_full, guest) is not None
    assert max(sizes) <= 60
    another = make_person("Another")
    assert refused(add_participant, buyer, thread_id=almost_full, user=another).code == (
        "ACTION_FORBIDDEN"
    )


def test_expired_invitations_make_room(almost_full, buyer, seller, guest):
    add_participant(buyer, thread_id=almost_full, user=guest)
    other = make_person("Other")
    befriend(buyer, other)
    code = refused(add_participant, buyer, thread_id=almost_full, user=other).code
    assert code == "ACTION_FORBIDDEN"
    with time_machine.travel(timezone.now() + timedelta(days=15)):
        assert add_participant(buyer, thread_id=almost_full, user=other) == ADDED
    assert invitation(almost_full, guest) is None


def test_blocks_that_the_table_lacks_are_checked_too(thread, buyer, seller, friend, monkeypatch):
    """The block is in SQL only, because the table did not answer when it was made."""
    monkeypatch.setattr("core.outbox.processing.process_entry", lambda entry: False)
    block_person(friend, blocked=seller)
    assert refused(add_participant, buyer, thread_id=thread, user=friend).code == (
        "ACTION_FORBIDDEN"
    )
