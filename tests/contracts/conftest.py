"""Two users with a thread, and their bookings."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from accounts.models import User
from contracts.models import Leg, Offer, Receipt
from contracts.queries import get_balance
from contracts.terms import Terms
from projects.actions.bookings import accept_offer, make_offer, record_payment, sign_contract
from tests.threads.conftest import (  # noqa: F401
    buyer,
    delivered,
    faults,
    make_person,
    person,
    seller,
    start,
    stranger,
    thread,
)

IN_MAY = datetime(2027, 5, 14, 9, tzinfo=UTC)


def terms(**changes: Any) -> Terms:
    plain = Terms(
        service="Portraits of the team",
        starts_at=IN_MAY,
        ends_at=IN_MAY + timedelta(hours=6),
        time_zone="Europe/Lisbon",
        place="Rua do Ouro 12, Lisbon",
        price_cents=120_000,
        deposit_cents=40_000,
        cancellation="moderate",
    )
    return replace(plain, **changes)


def offer_in(thread_id: str, by: User, *legs: Terms, **more: Any) -> Offer:
    fields = {"key": str(uuid4()), "title": "Team portraits", "currency": "EUR"} | more
    chosen = list(legs) or [_usual_terms(fields.get("changes"))]
    return make_offer(by, thread_id=thread_id, terms=chosen, **fields)


def _usual_terms(leg_id: str | None) -> Terms:
    """Each offer has its own week, since bookings of a seller cannot overlap; a change keeps it."""
    if leg_id:
        leg = Leg.objects.get(pk=leg_id)
        return terms(starts_at=leg.starts_at, ends_at=leg.ends_at)
    return in_week(Offer.objects.count() % 150)


def in_week(number: int, **changes: Any) -> Terms:
    start = IN_MAY + timedelta(weeks=number)
    return terms(starts_at=start, ends_at=start + timedelta(hours=6), **changes)


def book(thread_id: str, buyer: User, seller: User, *legs: Terms) -> Leg:  # noqa: F811
    offer = offer_in(thread_id, seller, *legs)
    accept_offer(buyer, offer_id=offer.id)
    return Leg.objects.filter(offer=offer).order_by("starts_at").first()


def sign(user: User, leg: Leg, number: int = 1, **more: Any) -> None:
    fields = {"legal_name": f"{user.display_name} Legal", "has_read": True} | more
    sign_contract(
        user,
        document_id=leg.contract.id,
        number=number,
        address="192.0.2.7",
        user_agent="Test browser",
        **fields,
    )


def pay(leg: Leg, cents: int | None = None, **more: Any) -> Receipt:
    """Records a payment by the seller: the outstanding amount or repayment, or a part of it."""
    outstanding = get_balance(leg).open_cents
    fields = {
        "key": str(uuid4()),
        "kind": "payment" if outstanding > 0 else "repayment",
        "cents": abs(outstanding) if cents is None else cents,
        "paid_on": timezone.now().date() - timedelta(days=1),
        "method": "bank_transfer",
        "outstanding": outstanding,
    }
    by = more.pop("by", leg.seller)
    return record_payment(by, leg_id=leg.id, **(fields | more))


@pytest.fixture
def leg(thread: str, buyer: User, seller: User) -> Leg:  # noqa: F811
    return book(thread, buyer, seller)


@pytest.fixture
def make_leg(buyer: User, seller: User) -> Callable[..., Leg]:  # noqa: F811
    return lambda *legs: book(start(buyer, seller), buyer, seller, *legs)
