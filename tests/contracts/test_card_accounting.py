"""Random sequences of actions by random users keep the accounts of a booking consistent."""

import contextlib
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from accounts.models import User
from contracts.cards.card_type import DEADLINE, STAFF, Transition
from contracts.cards.transitions import apply_due_transition
from contracts.cards.types import TYPES
from contracts.models import Amendment, Card, Leg, Receipt
from contracts.models.bookings import BOOKED, CANCELLED, COMPLETED, ON_HOLD
from contracts.models.money import EXPENSE, EXTRAS, OVERTIME, PAYMENT, REFUND
from contracts.queries import get_balance, is_in_force
from core.outbox.processing import process_due, process_now
from core.refusals import Refusal
from projects.actions.bookings import reverse_payment
from projects.cards.deadline_worker import process_due_cards
from projects.panel.rebuild import list_differences
from tests.contracts.card_helpers import (
    answer,
    decide_as_staff,
    new_time,
    propose,
    transition_input,
    users_with_role,
)
from tests.contracts.conftest import IN_MAY, book, pay, terms
from tests.threads.conftest import make_person, start

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

MONEY = {"extras": EXTRAS, "overtime": OVERTIME, "expense": EXPENSE}
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["propose", "move", "move", "pay", "reverse"]), st.integers(0, 10**6)
    ),
    min_size=8,
    max_size=24,
)


def two_bookings() -> list[Leg]:
    """Makes two bookings of one seller, one day apart, so that rescheduling can make them
    overlap."""
    buyer, seller = make_person("Bea"), make_person("Sam")
    later = IN_MAY + timedelta(days=1)
    other = terms(starts_at=later, ends_at=later + timedelta(hours=6))
    return [
        book(start(buyer, seller), buyer, seller, terms()),
        book(start(buyer, seller), buyer, seller, other),
    ]


def take_random_step(legs: list[Leg], what: str, chance: int) -> None:
    leg = Leg.objects.select_related("buyer", "seller").get(pk=legs[chance % 2].pk)
    who = (leg.buyer, leg.seller)[chance // 2 % 2]
    if what == "pay":
        pay(leg, (None, 1, 30_000)[chance // 4 % 3], key=str(chance))
    elif what == "reverse":
        receipts = list(leg.receipts.order_by("number"))
        if receipts:
            chosen = receipts[chance // 4 % len(receipts)]
            reverse_payment(leg.seller, receipt_id=chosen.id, key=f"reversal {chance}")
    elif what == "propose":
        name = sorted(TYPES)[chance // 4 % len(TYPES)]
        more = {"given": new_time(leg, days=chance // 64 % 3 or 1)} if name == "reschedule" else {}
        propose(name, leg, who, **more)
    else:
        cards = list(Card.objects.filter(leg=leg, is_open=True).order_by("id"))
        if cards:
            card = cards[chance // 4 % len(cards)]
            transitions = TYPES[card.type].transitions
            transition = transitions[chance // 64 % len(transitions)]
            # Usually by a user who is allowed to, since most other steps would be refused.
            allowed = users_with_role(transition.by, card) if chance // 4096 % 4 else []
            make_transition(card, transition, allowed[0] if allowed else who)


def make_transition(card: Card, transition: Transition, who: User) -> None:
    if transition.by == DEADLINE:
        pass_deadline(card)
    elif transition.by == STAFF:
        decide_as_staff(card)
    else:
        answer(who, card, transition.name, given=transition_input(card, transition))


def pass_deadline(card: Card) -> None:
    """Makes the card due; the deadline is restored where the booking is on hold."""
    before = card.due_at
    Card.objects.filter(pk=card.pk).update(due_at=IN_MAY - timedelta(days=900))
    done = apply_due_transition(card.id)
    if done is None:
        Card.objects.filter(pk=card.pk).update(due_at=before)
    else:
        process_now(done.entries)


def check_accounts(leg: Leg) -> None:
    leg.refresh_from_db()
    balance = get_balance(leg)
    amendments = list(leg.amendments.all())
    assert balance.total_cents == leg.price_cents + sum(a.amount_cents for a in amendments)
    entries = list(leg.ledger.all())
    signed = {e.pk: e.amount_cents if e.kind == PAYMENT else -e.amount_cents for e in entries}
    for entry in entries:
        if entry.reverses_id:
            signed[entry.pk] = -signed[entry.reverses_id]
    assert balance.paid_cents == sum(signed.values()) >= 0
    assert 0 <= balance.due_cents <= max(balance.open_cents, 0)
    for entry in entries:
        # Payments are recorded by the seller only.
        assert entry.method or entry.reverses_id
        assert (entry.receipt.amount_cents, entry.receipt.kind) == (entry.amount_cents, entry.kind)
    check_cards(leg, amendments)
    if leg.status == COMPLETED:
        assert balance.due_cents == max(balance.open_cents, 0)
        assert is_in_force(leg)
        assert not leg.cards.filter(is_open=True).exclude(type__in=("dispute", "safety")).exists()
    if leg.status == CANCELLED:
        done = sum(a.amount_cents for a in amendments if a.kind in (OVERTIME, EXPENSE))
        assert (
            balance.total_cents
            == done + leg.cards.get(type="cancel", state="accepted").payload["kept"]
        )


def check_cards(leg: Leg, amendments: list[Amendment]) -> None:
    """Each accepted card about money has one amendment of its amount, and there are no others."""
    of_money = {
        card.id: (MONEY[card.type], card.payload["cents"])
        for card in leg.cards.filter(type__in=MONEY, state="accepted")
    }
    found = {a.card_id: (a.kind, a.amount_cents) for a in amendments if a.kind != REFUND}
    assert found == of_money
    assert len([a for a in amendments if a.kind == REFUND]) <= (leg.status == CANCELLED)


def check_seller(legs: list[Leg]) -> None:
    numbers = Receipt.objects.filter(seller=legs[0].seller).order_by("number")
    found = list(numbers.values_list("number", flat=True))
    assert found == list(range(1, len(found) + 1))
    busy = Leg.objects.filter(seller=legs[0].seller, status__in=(BOOKED, ON_HOLD))
    # A booking disputed after its completion does not occupy the seller's time.
    busy = busy.exclude(cards__type="dispute", cards__payload__before=COMPLETED, status=ON_HOLD)
    times = sorted(busy.values_list("starts_at", "ends_at"))
    assert all(before[1] <= after[0] for before, after in zip(times, times[1:], strict=False))


def check_sequence(steps: list[tuple[str, int]]) -> None:
    legs = two_bookings()
    for what, chance in steps:
        with contextlib.suppress(Refusal):
            take_random_step(legs, what, chance)
        for leg in legs:
            check_accounts(leg)
        check_seller(legs)
    # Outbox entries of a held conversation wait until the hold is lifted.
    for card in Card.objects.filter(leg__in=legs, is_open=True):
        if TYPES[card.type].is_hold:
            decide_as_staff(card)
    process_due_cards()
    process_due()
    for leg in legs:
        assert list(list_differences(leg.thread_id)) == []


# A completion that is refused after its booking was made completable.
REFUSED_COMPLETION = [("propose", 34685), *[("propose", 36)] * 7]


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@example(REFUSED_COMPLETION)
@given(STEPS)
def test_accounts_are_consistent_after_every_step(steps):
    check_sequence(steps)


@pytest.mark.long
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(STEPS)
def test_accounts_are_consistent_after_every_step_of_many_sequences(steps):
    check_sequence(steps)
