"""Calling a booking off, with the outcome that its own terms give."""

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
from contracts.money import amount
from contracts.queries import format_outstanding, get_balance
from core.refusals import Refusal

DAY, WEEK = timedelta(days=1), timedelta(days=7)


class Cancel(BaseModel):
    reason: Reason


def kept(leg: Leg, now: datetime, *, by_buyer: bool) -> int:
    """What of the price is due all the same. Whoever sells and calls it off keeps nothing."""
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


def worth(leg: Leg) -> int:
    """Price and extras: what was to come. Overtime and expenses have been, and stay due."""
    extras = leg.amendments.filter(kind=EXTRAS).aggregate(sum=Sum("amount_cents"))["sum"] or 0
    return int(leg.price_cents + extras)


def write(leg: Leg, given: Cancel, by: User) -> Payload:
    return {
        "service": leg.service,
        "reason": given.reason,
        "terms": CANCELLATION[leg.cancellation],
        "by_buyer": by.id == leg.buyer_id,
        **quote(leg, by),
    }


def quote(leg: Leg, by: User) -> Payload:
    stays = kept(leg, timezone.now(), by_buyer=by.id == leg.buyer_id)
    whole = worth(leg)
    return {"worth": whole, "kept": stays, "refund": whole - stays, "currency": leg.currency}


def _accept(act: TransitionContext) -> None:
    leg, payload = act.booking, act.card.payload
    assert act.by is not None
    if worth(leg) != payload["worth"]:
        raise Refusal(
            "ACTION_INVALID_STATE",
            "What the booking is worth has changed since this was proposed.",
            hint="Decline it, and propose it again with the outcome as it is now.",
        )
    if payload["refund"] > 0:
        add_amendment(
            act.by,
            leg=leg,
            kind=REFUND,
            items=[{"title": "Cancelled"}],
            cents=payload["refund"],
            card_id=act.card.id,
        )
    leg.status = CANCELLED
    leg.save(update_fields=["status"])
    act.adds = f" {format_outstanding(get_balance(leg).open_cents, leg.currency)}"


def summary(payload: Payload) -> str:
    due = amount(payload["kept"], payload["currency"])
    return f"{payload['service']}, {due} stays due"


def show(payload: Payload) -> dict[str, Any]:
    return {
        name: amount(payload[name], payload["currency"]) for name in ("worth", "kept", "refund")
    }


def quoted(leg: Leg, by: User) -> dict[str, Any]:
    """Before one proposes it."""
    return show(quote(leg, by)) | {"terms": CANCELLATION[leg.cancellation]}


TYPE = CardType(
    name="cancel",
    label="Cancellation",
    icon="x",
    by=EITHER,
    proposal=Cancel,
    write=write,
    summary=summary,
    show=show,
    quote=quoted,
    is_alone=True,
    proposes="Cancel the booking",
    moves=(
        Transition(
            "accept",
            ANSWERER,
            (PENDING,),
            "accepted",
            "{name} agreed to cancel: {what}.",
            label="Agree to cancel",
            tone="danger",
            effect=_accept,
            asks="The booking is then called off for good, with the outcome above.",
        ),
        decline("{name} does not want to cancel: {what}."),
        # A booking is not completed while this is open, so that it never ends with one.
        withdraw("{name} withdrew the cancellation: {what}."),
    ),
)
