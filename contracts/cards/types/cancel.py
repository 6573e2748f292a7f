"""Cancelling a booking, with the outcome defined by its cancellation policy."""

from datetime import datetime, timedelta
from typing import Any

from django.db.models import Sum
from django.utils import timezone
from pydantic import BaseModel

from accounts.models import User
from contracts.actions.payments import add_amendment
from contracts.cards.card_type import (
    ANSWERER,
    EITHER,
    PENDING,
    CardType,
    Payload,
    Transition,
    TransitionContext,
    decline,
    withdraw,
)
from contracts.fields import Reason
from contracts.models import Leg
from contracts.models.bookings import CANCELLATION, CANCELLED, FLEXIBLE, MODERATE
from contracts.models.money import EXTRAS, REFUND
from contracts.money import format_amount
from contracts.queries import format_outstanding, get_balance
from core.refusals import Refusal

DAY, WEEK = timedelta(days=1), timedelta(days=7)


class Cancel(BaseModel):
    reason: Reason


def amount_still_due(leg: Leg, now: datetime, *, by_buyer: bool) -> int:
    """The part of the price that is still due. If the seller cancels, nothing is."""
    if not by_buyer:
        return 0
    left = leg.starts_at - now
    if leg.cancellation == FLEXIBLE:
        return 0 if left >= DAY else leg.deposit_cents
    if leg.cancellation == MODERATE:
        if left >= WEEK:
            return 0
        return leg.deposit_cents if left >= DAY else max(leg.deposit_cents, leg.price_cents // 2)
    return leg.deposit_cents if left >= WEEK else leg.price_cents


def price_with_extras(leg: Leg) -> int:
    """Price and extras. Overtime and expenses are already incurred and stay due."""
    extras = leg.amendments.filter(kind=EXTRAS).aggregate(sum=Sum("amount_cents"))["sum"] or 0
    return int(leg.price_cents + extras)


def build_payload(leg: Leg, given: Cancel, by: User) -> Payload:
    return {
        "service": leg.service,
        "reason": given.reason,
        "terms": CANCELLATION[leg.cancellation],
        "by_buyer": by.id == leg.buyer_id,
        **quote(leg, by),
    }


def quote(leg: Leg, by: User) -> Payload:
    kept = amount_still_due(leg, timezone.now(), by_buyer=by.id == leg.buyer_id)
    total = price_with_extras(leg)
    return {"worth": total, "kept": kept, "refund": total - kept, "currency": leg.currency}


def _accept(context: TransitionContext) -> None:
    leg, payload = context.booking, context.card.payload
    assert context.by is not None
    if price_with_extras(leg) != payload["worth"]:
        raise Refusal(
            "ACTION_INVALID_STATE",
            "The booking's price has changed since this was proposed.",
            hint="Decline it and propose it again with the new amounts.",
        )
    if payload["refund"] > 0:
        add_amendment(
            context.by,
            leg=leg,
            kind=REFUND,
            items=[{"title": "Cancelled"}],
            cents=payload["refund"],
            card_id=context.card.id,
        )
    leg.status = CANCELLED
    leg.save(update_fields=["status"])
    context.extra_text = f" {format_outstanding(get_balance(leg).open_cents, leg.currency)}"


def summary(payload: Payload) -> str:
    due = format_amount(payload["kept"], payload["currency"])
    return f"{payload['service']}, {due} still due"


def show(payload: Payload) -> dict[str, Any]:
    return {
        name: format_amount(payload[name], payload["currency"])
        for name in ("worth", "kept", "refund")
    }


def show_quote(leg: Leg, by: User) -> dict[str, Any]:
    """The outcome shown in the proposal form."""
    return show(quote(leg, by)) | {"terms": CANCELLATION[leg.cancellation]}


TYPE = CardType(
    name="cancel",
    label="Cancellation",
    icon="x",
    by=EITHER,
    proposal=Cancel,
    build_payload=build_payload,
    summary=summary,
    show=show,
    quote=show_quote,
    is_exclusive=True,
    propose_label="Cancel the booking",
    description="End the booking under its cancellation terms",
    transitions=(
        Transition(
            "accept",
            ANSWERER,
            (PENDING,),
            "accepted",
            "{name} agreed to cancel: {what}.",
            label="Agree to cancel",
            tone="danger",
            effect=_accept,
            confirmation="This cancels the booking for good, with the outcome above.",
        ),
        decline("{name} declined the cancellation: {what}."),
        # No `end_with_booking`: a booking cannot be completed while this is open.
        withdraw("{name} withdrew the cancellation: {what}."),
    ),
)
