"""Expenses of the seller, with a receipt as proof."""

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
from contracts.fields import Cents, Day, Note, SingleLine, field_error, format_day
from contracts.models import Leg
from contracts.models.money import EXPENSE
from contracts.money import format_amount
from core.refusals import Refusal

MAX_AGE_DAYS = 5 * 366


class Expense(BaseModel):
    amount: Cents
    merchant: SingleLine
    date: Day
    note: Note = ""


def build_payload(leg: Leg, given: Expense, by: User) -> Payload:
    # Tomorrow is allowed, because of time zones.
    age = (timezone.now().date() - given.date).days
    if age < -1:
        raise Refusal("CARD_INVALID", "The date can't be in the future.")
    if age > MAX_AGE_DAYS:
        raise field_error("date", "An expense can be at most five years old.")
    return {
        "cents": given.amount,
        "currency": leg.currency,
        "merchant": given.merchant,
        "date": given.date.isoformat(),
        "note": given.note,
    }


def _accept(context: TransitionContext) -> None:
    payload = context.card.payload
    assert context.by is not None
    slips = [file["id"] for file in payload["files"]]
    add_amendment(
        context.by,
        leg=context.booking,
        kind=EXPENSE,
        items=[{"title": payload["merchant"], "date": payload["date"], "slips": slips}],
        cents=payload["cents"],
        card_id=context.card.id,
    )


def summary(payload: Payload) -> str:
    return f"{payload['merchant']}, {format_amount(payload['cents'], payload['currency'])}"


def show(payload: Payload) -> dict[str, Any]:
    day = format_day(date.fromisoformat(payload["date"]))
    return {"total": format_amount(payload["cents"], payload["currency"]), "day": day}


TYPE = CardType(
    name="expense",
    label="Expense",
    icon="paperclip",
    by=SELLER,
    proposal=Expense,
    build_payload=build_payload,
    summary=summary,
    show=show,
    files=(1, 3),
    files_label="Receipt (photo or PDF)",
    propose_label="Submit an expense",
    description="Ask to be reimbursed, with the receipt",
    needs_review=True,
    transitions=(
        accept("{name} accepted the expense: {what}.", _accept),
        decline("{name} declined the expense: {what}."),
        withdraw("{name} withdrew the expense: {what}."),
        end_with_booking(),
    ),
)
