"""Work that went on for longer, at the rate that follows from the contract."""

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
from contracts.money import amount
from core.refusals import Refusal

MAX_MINUTES = 24 * 60


class Overtime(BaseModel):
    minutes: WholeNumber = Field(ge=1, le=MAX_MINUTES)
    note: Note = ""


def write(leg: Leg, given: Overtime, by: User) -> Payload:
    """What a minute costs is what a minute of the booking costs: its price over its length."""
    length = round((leg.ends_at - leg.starts_at).total_seconds() / 60)
    cents = (2 * leg.price_cents * given.minutes + length) // (2 * length)
    if not 0 < cents <= MAX_CENTS:
        raise Refusal("CARD_INVALID", "This booking has no price from which a rate would follow.")
    return {
        "minutes": given.minutes,
        "price": leg.price_cents,
        "length": length,
        "cents": cents,
        "currency": leg.currency,
        "note": given.note,
    }


def _accept(act: TransitionContext) -> None:
    payload = act.card.payload
    assert act.by is not None
    add_amendment(
        act.by,
        leg=act.booking,
        kind=OVERTIME,
        items=[{"title": spell(payload["minutes"])}],
        cents=payload["cents"],
        card_id=act.card.id,
    )


def spell(minutes: int) -> str:
    hours, rest = divmod(minutes, 60)
    parts = [f"{hours} h" if hours else "", f"{rest} min" if rest else ""]
    return " ".join(part for part in parts if part)


def summary(payload: Payload) -> str:
    return f"{spell(payload['minutes'])}, {amount(payload['cents'], payload['currency'])}"


def show(payload: Payload) -> dict[str, Any]:
    currency = payload["currency"]
    return {
        "length": spell(payload["minutes"]),
        "total": amount(payload["cents"], currency),
        "rate": f"{amount(payload['price'], currency)} for {spell(payload['length'])}",
    }


TYPE = CardType(
    name="overtime",
    label="Overtime",
    icon="clock",
    by=EITHER,
    proposal=Overtime,
    write=write,
    summary=summary,
    show=show,
    proposes="Propose overtime",
    needs_review=True,
    moves=(
        accept("{name} accepted the overtime: {what}.", _accept),
        decline("{name} declined the overtime: {what}."),
        withdraw("{name} withdrew the overtime: {what}."),
        end_with_booking(),
    ),
)
