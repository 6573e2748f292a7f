"""Completing work: the conditions for acceptance, and that accepting records no payment."""

from datetime import timedelta

import pytest
import time_machine
from django.utils import timezone

from contracts.models import Leg
from contracts.models.bookings import BOOKED, COMPLETED
from contracts.queries import get_balance
from core.outbox.processing import process_due
from core.refusals import Refusal
from projects.actions.cards import propose_card
from projects.cards.deadline_worker import process_due_cards
from projects.panel.rebuild import list_differences
from tests.contracts.card_helpers import GIVEN, answer, make_completable, propose
from tests.contracts.conftest import offer_in, pay, sign, terms
from tests.threads.conftest import messages_of
from threads.queries import open_thread

pytestmark = pytest.mark.django_db


def mark_completed(leg: Leg, **given: str):
    """Proposes the completion without preparing the booking for it."""
    return propose_card(
        leg.seller,
        thread_id=leg.thread_id,
        type_name="complete",
        leg_id=leg.id,
        key="complete",
        given={"how": "time"} | given,
    )


def refusal_text(leg: Leg, **given: str) -> str:
    with pytest.raises(Refusal) as refusal:
        mark_completed(leg, **given)
    assert not leg.cards.filter(type="complete").exists()
    return refusal.value.message


def move_to_past(leg: Leg) -> None:
    past = timezone.now() - timedelta(days=2)
    Leg.objects.filter(pk=leg.pk).update(starts_at=past, ends_at=past + timedelta(hours=1))
    leg.refresh_from_db()


def sign_both(leg: Leg) -> None:
    sign(leg.buyer, leg)
    sign(leg.seller, leg)


@pytest.fixture
def ready(leg: Leg) -> Leg:
    make_completable(leg)
    return leg


def test_completion_before_the_end_needs_approved_proofs(leg, buyer):
    sign_both(leg)
    assert "hasn't ended yet" in refusal_text(leg)
    assert "No proofs" in refusal_text(leg, how="milestone")
    answer(buyer, propose("proofs", leg), "approve", given={"chosen": []})
    card = mark_completed(leg, how="milestone")
    answer(buyer, card, "accept")
    assert Leg.objects.get(pk=leg.pk).status == COMPLETED


def test_completion_needs_a_contract_in_force(leg, buyer):
    move_to_past(leg)
    assert "haven't both signed" in refusal_text(leg)
    sign(buyer, leg)
    assert "haven't both signed" in refusal_text(leg)
    sign(leg.seller, leg)
    mark_completed(leg)


@pytest.mark.parametrize("type_name", ["extras", "expense", "overtime", "cancel", "proofs"])
def test_open_cards_are_listed_and_have_to_be_settled_first(type_name, ready, buyer, seller):
    card = propose(type_name, ready)
    assert "still has open actions" in refusal_text(ready)
    transitions = {"proofs": (buyer, "approve")}
    who, transition = transitions.get(type_name, (seller, "withdraw"))
    answer(who, card, transition, given={})
    card.refresh_from_db()
    assert card.state in ("withdrawn", "approved")
    answer(buyer, mark_completed(ready), "accept")
    assert Leg.objects.get(pk=ready.pk).status == COMPLETED


def test_an_open_change_offer_is_listed_too(ready, thread, seller):
    offer_in(thread, seller, terms(place="Porto"), changes=ready.id, title="To Porto")
    assert "To Porto" in refusal_text(ready)


@pytest.mark.storage
@pytest.mark.parametrize("paid", [0, 40_000, 120_000])
def test_accepting_makes_the_balance_due_and_records_no_payment(ready, thread, buyer, paid):
    if paid:
        pay(ready, paid)
    card = propose("complete", ready)
    entries = ready.ledger.count()
    answer(buyer, card, "accept")
    balance = get_balance(Leg.objects.get(pk=ready.pk))
    assert ready.ledger.count() == ready.receipts.count() == entries
    assert (balance.paid_cents, balance.due_cents) == (paid, 120_000 - paid)
    expected_ending = "Nothing is outstanding." if paid == 120_000 else "is now due."
    assert messages_of(thread)[-1].body.endswith(expected_ending)
    for user in (ready.buyer, ready.seller):
        account = open_thread(user, thread).cached.tabs["expenses"].snapshot["legs"][0]
        assert (account["paid"], account["due"]) == (paid, 120_000 - paid)
    assert not list(list_differences(thread))


def test_acceptance_is_refused_while_a_later_card_is_open(ready, buyer):
    card = propose("complete", ready)
    extras = propose("extras", ready)
    with pytest.raises(Refusal, match="still has open actions"):
        answer(buyer, card, "accept")
    extras.refresh_from_db()
    card.refresh_from_db()
    assert (extras.state, card.state) == ("pending", "pending")
    answer(buyer, extras, "accept")
    answer(buyer, card, "accept")
    assert get_balance(Leg.objects.get(pk=ready.pk)).due_cents == 120_000 + 11_650


@pytest.mark.storage
def test_the_deadline_does_not_accept_while_a_card_is_open(ready, thread, buyer):
    card = propose("complete", ready)
    extras = propose("extras", ready)
    with time_machine.travel(card.due_at + timedelta(seconds=1), tick=False):
        assert process_due_cards() == 0
        process_due()
        card.refresh_from_db()
        assert (card.state, Leg.objects.get(pk=ready.pk).status) == ("pending", BOOKED)
        assert card.due_at > timezone.now()
        assert not list(list_differences(thread))
        # Both can still answer.
        answer(buyer, extras, "decline")
        assert process_due_cards() == 0
    with time_machine.travel(card.due_at + timedelta(seconds=1), tick=False):
        assert process_due_cards() == 1
    card.refresh_from_db()
    assert (card.state, Leg.objects.get(pk=ready.pk).status) == ("auto_accepted", COMPLETED)
    assert not ready.ledger.exists()


def test_the_deadline_does_not_accept_during_a_dispute(ready, buyer):
    card = propose("complete", ready)
    answer(buyer, card, "dispute", given=GIVEN["dispute"](ready))
    with time_machine.travel(timezone.now() + timedelta(days=60), tick=False):
        assert process_due_cards() == 0
    assert Leg.objects.get(pk=ready.pk).status == "on_hold"


def test_a_contract_changed_since_has_to_be_signed_first(ready, thread, buyer, seller):
    from projects.actions.bookings import accept_offer

    card = propose("complete", ready)
    offer = offer_in(thread, seller, terms(place="Porto"), changes=ready.id)
    accept_offer(buyer, offer_id=offer.id)
    with pytest.raises(Refusal):
        answer(buyer, card, "accept")
    assert Leg.objects.get(pk=ready.pk).status == BOOKED
