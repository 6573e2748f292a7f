"""A blocked message puts a sending hold on its author in that thread, and on no other user."""

import io
from datetime import timedelta
from uuid import uuid4

import pytest
from django.apps import apps
from django.test import Client
from django.utils import timezone

from contracts.cards import deadlines
from contracts.models import Card
from core.outbox import processing
from core.outbox.models import OutboxEntry
from core.refusals import Refusal
from moderation.actions.cases import resolve_case
from moderation.actions.interventions import take_action
from moderation.models import Case
from projects.actions.bookings import decline_offer
from projects.actions.cards import propose_card
from projects.cards.deadline_worker import process_due_cards
from tests.contracts.card_scenes import GIVEN, propose
from tests.contracts.conftest import book, offer_in
from tests.moderation.conftest import BACKEND, make_staff, moderator, taken  # noqa: F401
from tests.threads.checker import assert_consistent
from tests.threads.conftest import add_friend, messages_of, row, say, start, thread_item
from tests.threads.faults import ALWAYS, UPDATE, unreachable
from threads import cache
from threads.actions import holds
from threads.actions.messages import OutgoingMessage, send_batch
from threads.actions.participants import add_participant, leave_thread, remove_participant
from threads.actions.revisions import edit_message, remove_message, set_reaction
from threads.actions.staff import soft_block_thread
from threads.actions.uploads import upload_file
from threads.dynamodb import keys
from threads.dynamodb.change import Change
from threads.dynamodb.transactions import update
from threads.models import Participant

pytestmark = pytest.mark.storage

SEVERE = "Call me on 0171 3920042, mail me@lumenfold.example, pay me by PayPal, no fee for us"


def refused(action) -> Refusal:
    with pytest.raises(Refusal) as refusal:
        action()
    return refusal.value


def page(user, thread) -> str:
    client = Client()
    client.force_login(user, backend=BACKEND)
    return client.get(f"/threads/{thread}/").content.decode()


@pytest.fixture
def held(thread, seller) -> str:
    """A thread with a sending hold on the seller."""
    assert refused(lambda: say(seller, thread, SEVERE)).code == "MSG_POLICY_BLOCKED"
    return thread


def case_of(thread: str) -> Case:
    return Case.objects.get(thread_id=thread)


def test_only_the_author_is_held_and_sees_the_reason(thread, buyer, seller, delivered):
    say(seller, thread, "Hello")
    delivered.clear()
    refused(lambda: say(seller, thread, SEVERE))
    refusal = refused(lambda: say(seller, thread, "Hm"))
    assert refusal.code == "SAFETY_SOFT_BLOCK"
    assert "a telephone number" in refusal.message
    assert "a telephone number" in page(seller, thread)
    assert "data-composer-closed" in page(seller, thread)
    assert delivered.to(seller, "thread.changed")
    # The other participant can send and is not notified.
    assert thread_item(thread).soft_block is None
    assert delivered.to(buyer, "thread.changed") == []
    assert "safety team" not in page(buyer, thread)
    assert say(buyer, thread, "Are you there?")
    assert_consistent(thread)


def test_a_hold_refuses_every_kind_of_change(held, buyer, seller):
    theirs = say(buyer, held, "Hello")
    offer = offer_in(held, buyer)
    holds.release_author(thread_id=held, user_id=seller.id)
    own = say(seller, held, "In May")
    holds.hold_author(thread_id=held, user_id=seller.id, reason="Again.", case_id="case_x")
    ways = {
        "send": lambda: say(seller, held, "Hm"),
        "edit": lambda: edit_message(seller, thread_id=held, message_id=own.id, body="In June"),
        "remove": lambda: remove_message(seller, thread_id=held, message_id=own.id),
        "react": lambda: set_reaction(
            seller, thread_id=held, message_id=theirs.id, reaction="👍", on=True
        ),
        "offer": lambda: offer_in(held, seller),
        "decline": lambda: decline_offer(seller, offer_id=offer.id),
        "upload": lambda: upload_file(
            seller, thread_id=held, name="a.txt", content=io.BytesIO(b"Words")
        ),
        "leave": lambda: leave_thread(seller, thread_id=held),
        "add": lambda: add_participant(seller, thread_id=held, user=make_staff("Al")),
    }
    assert {name: refused(way).code for name, way in ways.items()} == dict.fromkeys(
        ways, "SAFETY_SOFT_BLOCK"
    )
    assert_consistent(held)


def test_a_process_with_a_stale_cache_is_refused_by_the_store(thread, seller):
    sent = say(seller, thread, "Hello")
    assert cache.peek(thread)
    # Another process sets the hold.
    hold = {"sending_hold": {"reason": "Why.", "case": "case_x"}}
    person = Participant(keys.thread_pk(thread), keys.participant_sk(seller.id))
    update(person, Change(set=hold), Participant.pk.exists())
    before = len(messages_of(thread))
    assert refused(lambda: say(seller, thread, "Hm")).code == "SAFETY_SOFT_BLOCK"
    cache.invalidate(thread)
    cache.reload(thread).people[seller.id].sending_hold = None
    batch = [OutgoingMessage(seller, thread, str(uuid4()), "Hm")]
    send_batch(batch)
    assert batch[0].message is None
    cache.reload(thread).people[seller.id].sending_hold = None
    edit = lambda: edit_message(seller, thread_id=thread, message_id=sent.id, body="Ho")  # noqa: E731
    assert refused(edit).code == "SAFETY_SOFT_BLOCK"
    assert len(messages_of(thread)) == before


def test_staff_release_the_author_and_the_page_is_notified(
    held,
    buyer,
    seller,
    moderator,  # noqa: F811
    delivered,
):
    case = taken(moderator, case_of(held))
    delivered.clear()
    for _ in range(2):
        take_action(
            moderator, case_id=case.id, name="person.release", target=seller.id, reason="A prop"
        )
    assert delivered.to(seller, "thread.changed")
    assert delivered.to(buyer, "thread.changed") == []
    assert say(seller, held, "Thank you")
    resolve_case(moderator, case_id=case.id, reason="Done")


def test_resolving_the_case_releases_the_author(held, seller, moderator, delivered):  # noqa: F811
    delivered.clear()
    resolve_case(moderator, case_id=taken(moderator, case_of(held)).id, reason="A prop")
    assert row(held, seller).sending_hold is None
    assert delivered.to(seller, "thread.changed")
    assert say(seller, held, "Thank you")


def test_the_release_survives_an_outage_of_the_store(
    held,
    seller,
    moderator,  # noqa: F811
    faults,
):
    case = taken(moderator, case_of(held))
    faults.before(UPDATE, unreachable, times=ALWAYS)
    resolve_case(moderator, case_id=case.id, reason="A prop")
    faults.clear()
    assert row(held, seller).sending_hold
    # End the back-off.
    OutboxEntry.objects.filter(done_at=None).update(due_at=timezone.now())
    processing.process_due()
    assert row(held, seller).sending_hold is None


def test_a_repeated_entry_of_a_resolved_case_sets_no_hold(
    held,
    seller,
    moderator,  # noqa: F811
):
    entry = OutboxEntry.objects.filter(kind="case").last()
    payload = {
        "about": "circumvention",
        "thread": held,
        "person": seller.id,
        "reason": "off_site",
        "hold": "Your message looks like a telephone number.",
    }
    resolve_case(moderator, case_id=taken(moderator, case_of(held)).id, reason="A prop")
    OutboxEntry.objects.filter(pk=entry.pk).update(payload=payload, done_at=None)
    entry.refresh_from_db()
    assert processing.process_entry(entry)
    assert row(held, seller).sending_hold is None


def test_deadlines_are_paused_while_the_author_is_held(thread, buyer, seller, moderator):  # noqa: F811
    leg = book(thread, buyer, seller)
    card = propose("reschedule", leg, buyer)
    holds_of_case(thread, seller)
    card.refresh_from_db()
    assert card.stopped_at is not None
    Card.objects.filter(pk=card.pk).update(due_at=timezone.now() - timedelta(hours=1))
    assert process_due_cards() == 0
    resolve_case(moderator, case_id=taken(moderator, case_of(thread)).id, reason="Done")
    card.refresh_from_db()
    assert card.stopped_at is None
    assert not deadlines.is_paused(thread)


def holds_of_case(thread: str, author) -> None:
    """Runs the handler of a message that was blocked just before the other participant accepted."""
    payload = {
        "about": "circumvention",
        "thread": thread,
        "person": author.id,
        "reason": "off_site",
        "hold": "Your message looks like a telephone number.",
    }
    assert processing.process_entry(OutboxEntry.objects.create(kind="case", payload=payload))


def test_a_held_author_can_still_contact_the_safety_team(thread, buyer, seller):
    leg = book(thread, buyer, seller)
    holds_of_case(thread, seller)

    def propose_as_seller(kind):
        return propose_card(
            seller,
            thread_id=thread,
            type_name=kind,
            leg_id=leg.id,
            key=str(uuid4()),
            given=GIVEN[kind](leg),
        )

    assert refused(lambda: propose_as_seller("extras")).code == "SAFETY_SOFT_BLOCK"
    card = propose_as_seller("safety")
    card.refresh_from_db()
    assert card.message_id
    assert row(thread, seller).sending_hold


def test_a_hold_survives_leaving_and_rejoining(buyer, seller, stranger):
    thread = start(buyer, seller)
    add_friend(buyer, thread_id=thread, user=stranger)
    holds.hold_author(thread_id=thread, user_id=stranger.id, reason="Why.", case_id="case_x")
    remove_participant(buyer, thread_id=thread, user_id=stranger.id)
    add_friend(buyer, thread_id=thread, user=stranger)
    assert refused(lambda: say(stranger, thread, "Hi")).code == "SAFETY_SOFT_BLOCK"
    holds.release_author(thread_id=thread, user_id=stranger.id)
    assert say(stranger, thread, "Hi")
    remove_participant(buyer, thread_id=thread, user_id=stranger.id)
    add_friend(buyer, thread_id=thread, user=stranger)
    assert say(stranger, thread, "Hi again")


def test_the_migration_turns_soft_blocks_into_author_holds(thread, buyer, seller):
    case = Case.objects.create(about="circumvention", thread_id=thread, person=seller)
    reason = "Contact details or payment outside, before a booking"
    soft_block_thread(thread_id=thread, reason=reason, case_id=case.id)
    by_hand = start(seller, buyer)
    other = Case.objects.create(about="circumvention", thread_id=by_hand, person=buyer)
    soft_block_thread(thread_id=by_hand, reason="By staff", case_id=other.id)
    from importlib import import_module

    import_module("moderation.migrations.0004_author_holds").enqueue(apps, None)
    processing.process_due()
    assert thread_item(thread).soft_block is None
    assert row(thread, seller).sending_hold["case"] == case.id
    assert say(buyer, thread, "Hello")
    assert thread_item(by_hand).soft_block, "A soft block set by staff stays."
