"""Open cards when their booking ends, and deadlines after a decision by staff."""

from datetime import timedelta

import pytest
import time_machine
from django.utils import timezone

from contracts.cards.types import TYPES
from contracts.models import Card
from core.refusals import Refusal
from moderation.actions.cases import resolve_case
from moderation.actions.interventions import take_action
from moderation.models import Case
from projects.cards.deadline_worker import process_due_cards
from projects.panel.rebuild import list_differences
from tests.contracts.card_helpers import (
    answer,
    end_booking,
    later_cards,
    local,
    new_time,
    propose,
)
from tests.moderation.conftest import moderator, taken  # noqa: F401
from tests.threads.checker import assert_consistent
from tests.threads.conftest import messages_of, row, thread_item
from threads.actions.messages import send_message
from threads.cache import reload
from threads.dynamodb import keys
from threads.dynamodb.table import Item, query
from threads.models import PendingAction

pytestmark = pytest.mark.django_db

CLOSED_WITH_BOOKING = [kind.name for kind in TYPES.values() if kind.system_transition(kind.first)]


def pending_actions(user):
    page = query(keys.user_pk(user.id), Item.sk.startswith(keys.PENDING_ACTIONS), limit=100)
    return [item.type for item in page.of(PendingAction)]


@pytest.mark.parametrize("type_name", CLOSED_WITH_BOOKING)
def test_an_open_card_is_closed_with_the_booking_and_gives_the_reason(type_name, leg, thread):
    card = propose(type_name, leg)
    end_booking(card)
    closed = "superseded" if type_name == "offer" else "withdrawn"
    assert (card.state, card.is_open, card.waits_for, card.due_at) == (closed, False, [], None)
    leg.refresh_from_db()
    system_messages = [one.body for one in messages_of(thread) if one.type == "system"]
    assert system_messages[-1].startswith(
        f"The booking is {leg.status}, so this no longer needs a reply"
    )
    assert card.steps.last().by is None
    for person in (leg.buyer, leg.seller):
        assert pending_actions(person) == []
        assert row(thread, person).waiting_for == ""
    assert not any(each["isOpen"] for each in reload(thread).tabs["actions"].snapshot["cards"])
    assert list(list_differences(thread)) == []
    assert_consistent(thread)


@pytest.mark.storage
def test_all_open_cards_close_in_one_step_with_no_pending_actions_left(leg, thread, delivered):
    cards = [propose(name, leg) for name in ("extras", "reschedule", "expense", "proofs", "sign")]
    proofs = cards[3]
    answer(leg.buyer, proofs, "request_changes", given={"note": "Warmer."})
    cancellation = propose("cancel", leg)
    assert {each["user"] for each in thread_item(thread).waits} == {leg.buyer_id, leg.seller_id}
    delivered.clear()
    answer(leg.buyer, cancellation, "accept")
    assert {card.state for card in later_cards().exclude(pk=cancellation.pk)} == {"withdrawn"}
    assert thread_item(thread).waits == []
    for person in (leg.buyer, leg.seller):
        assert pending_actions(person) == []
        changed = [event["state"] for event in delivered.to(person, "card.changed")]
        assert sorted(changed) == ["accepted", *["withdrawn"] * 5]
    assert list(list_differences(thread)) == []
    assert_consistent(thread)


def test_cards_of_another_booking_stay_open(leg, thread, make_leg):
    other = make_leg()
    card = propose("extras", other)
    answer(leg.buyer, propose("complete", leg), "accept")
    card.refresh_from_db()
    assert card.state == "pending"


def test_a_dispute_stays_open_after_the_booking_ended(leg, thread):
    answer(leg.buyer, propose("complete", leg), "accept")
    dispute = propose("dispute", leg)
    assert dispute.state == "open"
    send_message(leg.buyer, thread_id=thread, client_id="0" * 32, body="Please look at it.")
    dispute.refresh_from_db()
    assert dispute.is_open


def test_after_a_dispute_other_cards_have_the_time_left_that_they_had(leg, thread, moderator):  # noqa: F811
    reschedule = propose("reschedule", leg, leg.seller)
    until = local(timezone.now() + timedelta(days=20), leg.time_zone)
    proofs = propose("proofs", leg, given={"until": until})
    due = {card.pk: card.due_at for card in (reschedule, proofs)}
    start = reschedule.created_at
    with time_machine.travel(start + timedelta(hours=1), tick=False):
        dispute = propose("dispute", leg)
    with time_machine.travel(start + timedelta(days=9), tick=False):
        assert process_due_cards() == 0
        case = taken(moderator, Case.objects.get(thread_id=thread))
        take_action(
            moderator, case_id=case.id, name="card.decide", target=dispute.id, reason="It goes on."
        )
        # The case is still open.
        assert process_due_cards() == 0
        resolve_case(moderator, case_id=case.id, reason="Done.")
        assert process_due_cards() == 0
    paused_for = timedelta(days=9) - timedelta(hours=1)
    for card in (reschedule, proofs):
        card.refresh_from_db()
        assert (card.state, card.stopped_at) == ("pending", None)
        assert abs(card.due_at - due[card.pk] - paused_for) < timedelta(seconds=5)
    with time_machine.travel(reschedule.due_at - timedelta(seconds=1), tick=False):
        assert process_due_cards() == 0
    with time_machine.travel(reschedule.due_at, tick=False):
        assert process_due_cards() == 1
    reschedule.refresh_from_db()
    assert reschedule.state == "expired"
    assert list(list_differences(thread)) == []


def test_a_proposed_time_that_passed_during_a_hold_is_not_accepted(leg, thread):
    card = propose("reschedule", leg, leg.seller, given=new_time(leg, days=1))
    after_start = card.leg.starts_at + timedelta(days=2)
    Card.objects.filter(pk=card.pk).update(due_at=after_start + timedelta(days=1))
    with time_machine.travel(after_start, tick=False), pytest.raises(Refusal) as refused:
        answer(leg.buyer, card, "accept")
    assert refused.value.code == "ACTION_INVALID_STATE"
