"""Overtime, at the rate of the contract."""

from typing import Any

from pydantic import BaseModel, Field

from accounts.models import User
from contracts.actions.payments import add_amendment
from contracts.cards.card_type import (
    EITHER,
    CardType,
    Payload,
    TransitionContext,
    accept,
    decline,
    end_with_booking,
    withdraw,
)
from contracts.fields import Note, WholeNumber
from contracts.models import Leg
from contracts.models.fields import MAX_CENTS
from contracts.models.money import OVERTIME
from contracts.money import format_amount
from core.refusals import Refusal

MAX_MINUTES = 24 * 60


class Overtime(BaseModel):
    minutes: WholeNumber = Field(ge=1, le=MAX_MINUTES)
    note: Note = ""


def build_payload(leg: Leg, given: Overtime, by: User) -> Payload:
    """Overtime costs the same per minute as the booking: its price divided by its length."""
    length = round((leg.ends_at - leg.starts_at).total_seconds() / 60)
    cents = (2 * leg.price_cents * given.minutes + length) // (2 * length)
    if not 0 < cents <= MAX_CENTS:
        raise Refusal(
            "CARD_INVALID", "Overtime can't be calculated because this booking has no price."
        )
    return {
        "minutes": given.minutes,
        "price": leg.price_cents,
        "length": length,
        "cents": cents,
        "currency": leg.currency,
        "note": given.note,
    }


def _accept(context: TransitionContext) -> None:
    payload = context.card.payload
    assert context.by is not None
    add_amendment(
        context.by,
        leg=context.booking,
        kind=OVERTIME,
        items=[{"title": format_minutes(payload["minutes"])}],
        cents=payload["cents"],
        card_id=context.card.id,
    )


def format_minutes(minutes: int) -> str:
    hours, rest = divmod(minutes, 60)
    parts = [f"{hours} h" if hours else "", f"{rest} min" if rest else ""]
    return " ".join(part for part in parts if part)


def summary(payload: Payload) -> str:
    total = format_amount(payload["cents"], payload["currency"])
    return f"{format_minutes(payload['minutes'])}, {total}"


def show(payload: Payload) -> dict[str, Any]:
    currency = payload["currency"]
    price = format_amount(payload["price"], currency)
    return {
        "length": format_minutes(payload["minutes"]),
        "total": format_amount(payload["cents"], currency),
        "rate": f"{price} for {format_minutes(payload['length'])}",
    }


TYPE = CardType(
    name="overtime",
    label="Overtime",
    icon="clock",
    by=EITHER,
    proposal=Overtime,
    build_payload=build_payload,
    summary=summary,
    show=show,
    propose_label="Propose overtime",
    description="Bill time beyond the booking",
    needs_review=True,
    transitions=(
        accept("{name} accepted the overtime: {what}.", _accept),
        decline("{name} declined the overtime: {what}."),
        withdraw("{name} withdrew the overtime: {what}."),
        end_with_booking(),
    ),
)
