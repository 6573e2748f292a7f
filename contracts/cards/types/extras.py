"""Extras in addition to the booking, with their prices."""

from typing import Any

from pydantic import BaseModel, Field

from accounts.models import User
from contracts.actions.payments import add_amendment
from contracts.cards.card_type import (
    ANSWERER,
    PENDING,
    SELLER,
    CardType,
    Payload,
    Transition,
    TransitionContext,
    accept,
    decline,
    end_with_booking,
    withdraw,
)
from contracts.fields import Cents, Note, SingleLine, WholeNumber
from contracts.models import Leg
from contracts.models.fields import MAX_CENTS
from contracts.models.money import EXTRAS
from contracts.money import format_amount
from core.refusals import Refusal

MAX_ITEMS = 10
MAX_QUANTITY = 1_000


class ExtraItem(BaseModel):
    title: SingleLine
    quantity: WholeNumber = Field(1, ge=1, le=MAX_QUANTITY)
    unit: Cents


class Extras(BaseModel):
    items: list[ExtraItem] = Field(min_length=1, max_length=MAX_ITEMS)
    note: Note = ""


def build_payload(leg: Leg, given: Extras, by: User) -> Payload:
    items = [
        {"title": item.title, "quantity": item.quantity, "cents": item.unit} for item in given.items
    ]
    total = sum(item.quantity * item.unit for item in given.items)
    if total > MAX_CENTS:
        raise Refusal("CARD_INVALID", "That amount is too large.")
    return {
        "service": leg.service,
        "items": items,
        "cents": total,
        "currency": leg.currency,
        "note": given.note,
    }


def _accept(context: TransitionContext) -> None:
    payload = context.card.payload
    assert context.by is not None
    add_amendment(
        context.by,
        leg=context.booking,
        kind=EXTRAS,
        items=payload["items"],
        cents=payload["cents"],
        card_id=context.card.id,
    )


def summary(payload: Payload) -> str:
    first, *more = payload["items"]
    others = f" and {len(more)} more" if more else ""
    return f"{first['title']}{others}, {format_amount(payload['cents'], payload['currency'])}"


def show(payload: Payload) -> dict[str, Any]:
    def money(cents: int) -> str:
        return format_amount(cents, payload["currency"])

    rows = [
        item | {"unit": money(item["cents"]), "sum": money(item["quantity"] * item["cents"])}
        for item in payload["items"]
    ]
    return {"rows": rows, "total": money(payload["cents"])}


def defaults(leg: Leg) -> dict[str, Any]:
    return {"items": [{"title": "", "quantity": 1, "unit": ""}], "currency": leg.currency}


TYPE = CardType(
    name="extras",
    label="Extras",
    icon="file-plus",
    by=SELLER,
    proposal=Extras,
    build_payload=build_payload,
    summary=summary,
    show=show,
    defaults=defaults,
    propose_label="Propose extras",
    description="Add items to the price",
    needs_review=True,
    transitions=(
        accept("{name} accepted the extras: {what}.", _accept),
        Transition(
            "counter",
            ANSWERER,
            (PENDING,),
            "countered",
            "{name} suggested other extras.",
            label="Suggest a change",
            input_model=Extras,
            next_type="extras",
        ),
        decline("{name} declined the extras: {what}."),
        withdraw("{name} withdrew the extras."),
        end_with_booking(),
    ),
)
