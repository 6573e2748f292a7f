"""What the seller laid out, with the slip that proves it."""

from datetime import date
from typing import Any

from django.utils import timezone
from pydantic import BaseModel

from accounts.models import User
from contracts.actions.payments import add_amendment
from contracts.cards.card_type import (
    SELLER,
    CardType,
    Payload,
    TransitionContext,
    accept,
    decline,
    end_with_booking,
    withdraw,
)
from contracts.fields import Cents, Day, Note, SingleLine, format_day, invalid
from contracts.models import Leg
from contracts.models.money import EXPENSE
from contracts.money import amount
from core.refusals import Refusal

MAX_AGE_DAYS = 5 * 366


class Expense(BaseModel):
    amount: Cents
    merchant: SingleLine
    date: Day
    note: Note = ""


def write(leg: Leg, given: Expense, by: User) -> Payload:
    # Somewhere it is tomorrow already.
    age = (timezone.now().date() - given.date).days
    if age < -1:
        raise Refusal("CARD_INVALID", "That day has not come yet.")
    if age > MAX_AGE_DAYS:
        raise invalid("date", "An expense can be at most five years old.")
    return {
        "cents": given.amount,
        "currency": leg.currency,
        "merchant": given.merchant,
        "date": given.date.isoformat(),
        "note": given.note,
    }


def _accept(act: TransitionContext) -> None:
    payload = act.card.payload
    assert act.by is not None
    slips = [file["id"] for file in payload["files"]]
    add_amendment(
        act.by,
        leg=act.booking,
        kind=EXPENSE,
        items=[{"title": payload["merchant"], "date": payload["date"], "slips": slips}],
        cents=payload["cents"],
        card_id=act.card.id,
    )


def summary(payload: Payload) -> str:
    return f"{payload['merchant']}, {amount(payload['cents'], payload['currency'])}"


def show(payload: Payload) -> dict[str, Any]:
    day = format_day(date.fromisoformat(payload["date"]))
    return {"total": amount(payload["cents"], payload["currency"]), "day": day}


TYPE = CardType(
    name="expense",
    label="Expense",
    icon="paperclip",
    by=SELLER,
    proposal=Expense,
    write=write,
    summary=summary,
    show=show,
    files=(1, 3),
    files_label="Photo of the slip",
    proposes="Hand in an expense",
    needs_review=True,
    moves=(
        accept("{name} accepted the expense: {what}.", _accept),
        decline("{name} declined the expense: {what}."),
        withdraw("{name} withdrew the expense: {what}."),
        end_with_booking(),
    ),
)
