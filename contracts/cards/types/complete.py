"""Completion of a booking. Without an answer before the deadline, the work is accepted."""

from datetime import datetime, timedelta
from typing import Any, Literal

from django.conf import settings
from django.utils import timezone
from pydantic import BaseModel

from accounts.models import User
from contracts.cards.card_type import (
    BUYER,
    DEADLINE,
    PENDING,
    SELLER,
    BookingState,
    CardType,
    Payload,
    Transition,
    TransitionContext,
    accept,
    end_with_booking,
    withdraw,
)
from contracts.cards.types.dispute import Dispute
from contracts.cards.types.proofs import is_approved
from contracts.fields import Note
from contracts.models import Card, Leg
from contracts.models.bookings import COMPLETED
from contracts.money import format_amount
from contracts.queries import format_outstanding, get_balance, is_in_force
from core.refusals import Refusal

TIME, MILESTONE = "time", "milestone"
NOT_ENDED = "The booking hasn't ended yet."
NOT_SIGNED = "You haven't both signed the contract yet."
HOW = {TIME: "The booked time has ended", MILESTONE: "The proofs were approved"}


class Complete(BaseModel):
    how: Literal["time", "milestone"]
    note: Note = ""


def build_payload(leg: Leg, given: Complete, by: User) -> Payload:
    _check_how(leg, given.how, timezone.now())
    check_can_be_completed(leg)
    return {
        "service": leg.service,
        "how": given.how,
        "note": given.note,
        "open": get_balance(leg).open_cents,
        "currency": leg.currency,
    }


def _check_how(leg: Leg, how: str, now: datetime) -> None:
    if how == TIME and leg.ends_at > now:
        raise Refusal("CARD_INVALID", NOT_ENDED)
    if how == MILESTONE and not is_approved(leg):
        raise Refusal("CARD_INVALID", "No proofs for this booking have been approved yet.")


def check_can_be_completed(leg: Leg, *, card: Card | None = None) -> None:
    """Checked when it is proposed and when it is accepted, by the buyer or by the deadline."""
    if not is_in_force(leg):
        raise Refusal(
            "ACTION_INVALID_STATE",
            NOT_SIGNED,
            hint="Sign it first.",
        )
    if items := open_items(leg, card=card):
        listed = "; ".join(f"{item['label']}: {item['what']}" for item in items)
        raise Refusal(
            "ACTION_INVALID_STATE",
            f"This booking still has open actions. {listed}.",
            hint="Accept, decline or withdraw them first. They're in the Actions tab.",
        )


def open_items(leg: Leg, *, card: Card | None = None) -> list[dict[str, str]]:
    """Other open cards of the booking, including suggested changes."""
    cards = leg.cards.filter(is_open=True).exclude(pk=card.pk if card else None).order_by("id")
    return [_open_card(each) for each in cards]


def _open_card(card: Card) -> dict[str, str]:
    # Imported here, because the registry imports this module.
    from contracts.cards.types import TYPES

    kind = TYPES.get(card.type)
    if kind is None:
        return {"label": "Action", "what": card.type, "card": card.id}
    return {
        "label": kind.get_label(card.payload),
        "what": kind.summary(card.payload),
        "card": card.id,
    }


def _accept(context: TransitionContext) -> None:
    """Makes the balance due. The seller records payments separately."""
    leg, card = context.booking, context.card
    if not is_approved(leg):
        _check_how(leg, TIME, context.at)
    check_can_be_completed(leg, card=card)
    leg.status = COMPLETED
    leg.save(update_fields=["status"])
    balance = get_balance(leg)
    due = format_amount(balance.due_cents, leg.currency)
    card.payload = card.payload | {"due": balance.due_cents}
    left = format_outstanding(balance.open_cents, leg.currency)
    context.extra_text = f" {due} is now due." if balance.due_cents else f" {left}"


def obstacle(state: BookingState) -> str:
    if not state.is_in_force:
        return NOT_SIGNED
    return "" if state.has_ended or state.has_approved_proofs else NOT_ENDED


def due(leg: Leg, payload: Payload, now: datetime) -> datetime:
    return now + timedelta(days=settings.REVIEW_DAYS)


def defaults(leg: Leg) -> dict[str, Any]:
    return {"how": MILESTONE if is_approved(leg) else TIME}


def summary(payload: Payload) -> str:
    return str(payload["service"])


def show(payload: Payload) -> dict[str, Any]:
    shown = {
        "how": HOW[payload["how"]],
        "open": format_amount(payload["open"], payload["currency"]),
    }
    if "due" in payload:
        shown["due"] = format_amount(payload["due"], payload["currency"])
    return shown


def quote(leg: Leg, by: User) -> dict[str, Any]:
    """Shown in the proposal form: what has to be settled first, and what becomes due."""
    return {
        "open_items": open_items(leg),
        "is_in_force": is_in_force(leg),
        "outstanding": format_outstanding(get_balance(leg).open_cents, leg.currency),
    }


TYPE = CardType(
    name="complete",
    label="Completion",
    icon="badge-check",
    by=SELLER,
    proposal=Complete,
    build_payload=build_payload,
    summary=summary,
    show=show,
    due=due,
    quote=quote,
    choices={"how": HOW},
    defaults=defaults,
    is_exclusive=True,
    propose_label="Mark as completed",
    description="Say that the work is done",
    obstacle=obstacle,
    transitions=(
        accept("{name} accepted the work: {what}.", _accept, by=BUYER),
        Transition(
            "dispute",
            BUYER,
            (PENDING,),
            "disputed",
            "{name} disputed the completion: {what}.",
            label="Dispute",
            input_model=Dispute,
            next_type="dispute",
        ),
        Transition(
            "auto_accept",
            DEADLINE,
            (PENDING,),
            "auto_accepted",
            "The review period has ended and the work is accepted: {what}.",
            effect=_accept,
        ),
        withdraw("{name} withdrew the completion: {what}."),
        end_with_booking(),
    ),
)
