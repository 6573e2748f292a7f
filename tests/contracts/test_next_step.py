"""The next step of a booking, in every status and for every open card."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from contracts.cards.card_type import STAFF
from contracts.cards.types import TYPES
from contracts.instalments import Account, DueInstalment
from contracts.models import Card, Leg
from contracts.models.bookings import BOOKED, CANCELLED, COMPLETED, LEG_STATES, ON_HOLD
from contracts.models.documents import IN_FORCE, ISSUED
from contracts.next_step import (
    BALANCE,
    COMPLETION,
    CONTRACT,
    DEPOSIT,
    NEW_PROOFS,
    PAYMENT_KINDS,
    PHRASES,
    REPAYMENT,
    REVIEW,
    BookingRecords,
    describe_others_step,
    describe_own_step,
    find_next_step,
    list_stages,
    read_booking,
)
from contracts.plans import SIGNED
from projects.actions.bookings import withdraw_offer
from tests.contracts.card_helpers import answer, propose
from tests.contracts.conftest import book, offer_in, pay, sign, terms

BUYER, SELLER = "usr_buyer", "usr_seller"
NOW = timezone.now()


def records(status=BOOKED, *, total=100, paid=0, due=0, deposit=40, **more) -> BookingRecords:
    leg = Leg(
        id="leg_1",
        buyer_id=BUYER,
        seller_id=SELLER,
        status=status,
        deposit_cents=deposit,
        price_cents=total,
        starts_at=NOW,
        ends_at=NOW + timedelta(hours=2),
    )
    facts = {"document_id": "ctr_1", "contract_status": IN_FORCE} | more
    instalment = DueInstalment(paid + due, SIGNED, NOW.date(), paid_cents=paid)
    account = Account(leg, 0, paid, (instalment,), is_payable=True, today=NOW.date())
    return BookingRecords(leg, account, **facts)


def card(type_name: str, state: str = "pending", waits_for=(BUYER,)) -> Card:
    return Card(id=f"card_{type_name}", type=type_name, state=state, waits_for=list(waits_for))


UNSIGNED = {"contract_status": ISSUED, "unsigned": (BUYER, SELLER)}
HALF_SIGNED = {"contract_status": ISSUED, "unsigned": (SELLER,)}
# Records, and the kind, users and amount of the next step; None if nothing is left to do.
CASES = {
    "unsigned": (records(**UNSIGNED), (CONTRACT, (BUYER, SELLER), 0)),
    "signed by one": (records(**HALF_SIGNED), (CONTRACT, (SELLER,), 0)),
    "deposit due": (records(due=40), (DEPOSIT, (BUYER,), 40)),
    "deposit partly paid": (records(paid=10, due=30), (DEPOSIT, (BUYER,), 30)),
    "more than the deposit due": (records(paid=40, due=20), (BALANCE, (BUYER,), 20)),
    "no deposit": (records(deposit=0), (COMPLETION, (SELLER,), 0)),
    "paid too much": (records(paid=120), (REPAYMENT, (SELLER,), 20)),
    "proofs": (records(due=40, open_cards=(card("proofs"),)), ("proofs", (BUYER,), 0)),
    "changes requested": (
        records(open_cards=(card("proofs", "changes_requested", (SELLER,)),)),
        (NEW_PROOFS, (SELLER,), 0),
    ),
    "cancellation first": (
        records(open_cards=(card("expense"), card("cancel", waits_for=(SELLER,)))),
        ("cancel", (SELLER,), 0),
    ),
    "a signature request is the contract": (
        records(**HALF_SIGNED, open_cards=(card("sign", waits_for=(SELLER,)),)),
        (CONTRACT, (SELLER,), 0),
    ),
    "safety request": (
        records(**UNSIGNED, open_cards=(card("safety", "open", ()),)),
        (REVIEW, (), 0),
    ),
    "in dispute": (records(ON_HOLD, paid=40, open_cards=(card("extras"),)), (REVIEW, (), 0)),
    "in dispute and unsigned": (records(ON_HOLD, **UNSIGNED), (REVIEW, (), 0)),
    "completed and due": (records(COMPLETED, paid=40, due=60), (BALANCE, (BUYER,), 60)),
    "completed and paid": (records(COMPLETED, paid=100), None),
    "cancelled and due": (records(CANCELLED, due=40), (BALANCE, (BUYER,), 40)),
    "cancelled and unsigned": (records(CANCELLED, total=0, **UNSIGNED), None),
    "cancelled with a repayment": (
        records(CANCELLED, total=0, paid=40),
        (REPAYMENT, (SELLER,), 40),
    ),
    "newer card type": (records(open_cards=(card("hologram"),)), ("hologram", (BUYER,), 0)),
}


@pytest.mark.parametrize("name", CASES)
def test_the_next_step_follows_from_the_records(name):
    given, expected = CASES[name]
    step = find_next_step(given)
    assert (step and (step.kind, step.user_ids, step.cents)) == expected


def test_every_status_is_covered():
    assert {given.leg.status for given, _ in CASES.values()} == set(LEG_STATES)


@pytest.mark.parametrize("status", LEG_STATES)
def test_money_and_signatures_are_claimed_only_if_recorded(status):
    """The step names a payment only if one is due, and a signature only if one is missing."""
    for due, paid in ((0, 0), (40, 0), (0, 100), (0, 140)):
        for contract in (UNSIGNED, HALF_SIGNED, {}):
            given = records(status, due=due, paid=paid, **contract)
            step = find_next_step(given)
            stages = {stage.name: stage.is_done for stage in list_stages(given, is_private=True)}
            if step and step.kind in PAYMENT_KINDS:
                assert step.cents == (due or paid - 100) > 0
            if step and step.kind == CONTRACT:
                assert (status, step.user_ids) == (BOOKED, contract["unsigned"])
            assert stages.get("signed", False) == (not contract)
            assert stages.get("deposit", False) == (paid >= 40)
            assert stages.get("paid", False) == (paid >= 100)
            assert stages.get("completed", False) == (status == COMPLETED)
            assert stages.get("cancelled", False) == (status == CANCELLED)


def names(given, *, is_private=True):
    return [stage.name for stage in list_stages(given, is_private=is_private)]


def test_stages_that_do_not_apply_are_left_out():
    everything = ["agreed", "signed", "deposit", "day", "proofs", "completed", "paid"]
    assert names(records(open_cards=(card("proofs"),))) == everything
    assert names(records()) == [each for each in everything if each != "proofs"]
    assert "deposit" not in names(records(deposit=0))
    assert names(records(total=0, deposit=0)) == ["agreed", "signed", "day", "completed"]
    assert names(records(CANCELLED, **UNSIGNED, total=0)) == ["agreed", "cancelled"]
    # Several sellers see neither dates nor money of each other.
    assert names(records(), is_private=False) == ["agreed", "signed", "completed"]


def test_completion_waits_for_the_end_unless_proofs_are_approved():
    assert find_next_step(records()).not_before == NOW + timedelta(hours=2)
    assert find_next_step(records(has_approved_proofs=True)).not_before is None


def test_every_card_type_that_waits_for_a_user_has_its_wording():
    for kind in TYPES.values():
        if STAFF not in kind.waits.values():
            assert kind.name in PHRASES, kind.name
    assert describe_own_step("contract") == "Sign the contract"
    assert describe_others_step("deposit", "Mara") == "Waiting for Mara to pay the deposit"
    assert describe_own_step("hologram") == "Reply"


@pytest.mark.storage
@pytest.mark.django_db(transaction=True)
def test_the_steps_of_a_booking_from_agreement_to_payment(thread, buyer, seller):
    def step():
        found = find_next_step(read_booking(Leg.objects.get(pk=leg.pk)))
        return found and (found.kind, list(found.user_ids))

    leg = book(thread, buyer, seller)
    assert step() == ("contract", [buyer.id, seller.id])
    sign(seller, leg)
    assert step() == ("contract", [buyer.id])
    sign(buyer, leg)
    assert step() == ("deposit", [buyer.id])
    change = offer_in(
        thread,
        seller,
        terms(starts_at=leg.starts_at, ends_at=leg.ends_at, price_cents=99_000),
        changes=leg.id,
    )
    assert step() == ("offer", [buyer.id])
    withdraw_offer(seller, offer_id=change.id)
    pay(leg, 40_000)
    assert step() == ("completion", [seller.id])
    done = propose("complete", leg)
    assert step() == ("complete", [buyer.id])
    answer(buyer, done, "accept")
    assert step() == ("balance", [buyer.id])
    pay(Leg.objects.get(pk=leg.pk))
    assert step() is None


@pytest.mark.django_db(transaction=True)
def test_reading_a_booking_takes_as_many_queries_with_many_records(thread, buyer, seller):
    leg = book(thread, buyer, seller)

    def count():
        with CaptureQueriesContext(
            connection,
        ) as queries:
            read_booking(Leg.objects.get(pk=leg.pk))
        return len(queries)

    before = count()
    for _ in range(3):
        propose("extras", leg)
        propose("expense", leg)
        pay(leg, 100)
    assert count() == before
