"""Disputes: the booking is on hold until staff decide."""

from typing import Any, Literal

from pydantic import BaseModel

from accounts.models import User
from contracts.cards.card_type import BUYER, STAFF, CardType, Payload, Transition, TransitionContext
from contracts.cards.cases import FOR_STAFF, OPEN, RESOLVED, Decision, open_case, record_decision
from contracts.cards.deadlines import refresh_other_cards
from contracts.fields import Reason
from contracts.models import Leg
from contracts.models.bookings import ON_HOLD

MATTERS = {
    "not_delivered": "Not delivered",
    "not_as_agreed": "Not as agreed",
    "money": "Payment problem",
    "other": "Something else",
}


class Dispute(BaseModel):
    matter: Literal["not_delivered", "not_as_agreed", "money", "other"]
    details: Reason


def build_payload(leg: Leg, given: Dispute, by: User) -> Payload:
    return {
        "service": leg.service,
        "matter": given.matter,
        "details": given.details,
        # The status that is restored by the decision.
        "before": leg.status,
    }


def _hold(context: TransitionContext) -> None:
    card, leg = context.card, context.booking
    leg.status = ON_HOLD
    leg.save(update_fields=["status"])
    comment = f"{MATTERS[card.payload['matter']]}. {card.payload['details']}"
    open_case(context, about="dispute", person=card.seller_id, reason="other", comment=comment)
    context.entries += refresh_other_cards(card, context.entries)


def _resolve(context: TransitionContext) -> None:
    context.booking.status = context.card.payload["before"]
    context.booking.save(update_fields=["status"])
    record_decision(context)
    context.entries += refresh_other_cards(context.card, context.entries)


def summary(payload: Payload) -> str:
    return f"{payload['service']}: {MATTERS[payload['matter']].lower()}"


def show(payload: Payload) -> dict[str, Any]:
    return {"matter": MATTERS[payload["matter"]]}


TYPE = CardType(
    name="dispute",
    label="Dispute",
    icon="flag",
    by=BUYER,
    proposal=Dispute,
    build_payload=build_payload,
    summary=summary,
    show=show,
    first=OPEN,
    waits=FOR_STAFF,
    effect=_hold,
    files=(0, 5),
    files_label="Evidence",
    choices={"matter": MATTERS},
    is_exclusive=True,
    propose_label="Open a dispute",
    description="Put the booking on hold until our team decides",
    transitions=(
        Transition(
            "resolve",
            STAFF,
            (OPEN,),
            RESOLVED,
            "Our safety team has decided the dispute. The booking is no longer on hold.",
            input_model=Decision,
            effect=_resolve,
        ),
    ),
)
