"""Safety requests: the thread is on hold until staff context."""

from typing import Literal

from pydantic import BaseModel

from accounts.models import User
from contracts.cards.card_type import (
    EITHER,
    STAFF,
    CardType,
    Payload,
    Transition,
    TransitionContext,
)
from contracts.cards.cases import FOR_STAFF, OPEN, RESOLVED, Decision, open_case, record_decision
from contracts.fields import Reason
from contracts.models import Leg

# The same reasons as for reports.
MATTERS = {
    "danger": "Threat or danger",
    "harassment": "Harassment or insults",
    "sexual": "Unwanted sexual content",
    "fraud": "Fraud or false identity",
    "other": "Something else",
}
SEVERITIES = {"soon": "Soon", "urgent": "Urgent"}


class Safety(BaseModel):
    matter: Literal["danger", "harassment", "sexual", "fraud", "other"]
    severity: Literal["soon", "urgent"] = "soon"
    notes: Reason


def build_payload(leg: Leg, given: Safety, by: User) -> Payload:
    """The input is visible to staff only; the other party just sees that a case exists."""
    return {"service": leg.service}


def _call(context: TransitionContext) -> None:
    card, given = context.card, context.given
    open_case(
        context,
        about="safety",
        person=card.answerer_id,
        reason=given.matter,
        comment=given.notes,
        hold="Safety",
        is_urgent=given.severity == "urgent",
    )


def summary(payload: Payload) -> str:
    return str(payload["service"])


TYPE = CardType(
    name="safety",
    label="Safety",
    icon="shield-check",
    by=EITHER,
    proposal=Safety,
    build_payload=build_payload,
    summary=summary,
    show=lambda payload: {},
    first=OPEN,
    waits=FOR_STAFF,
    effect=_call,
    is_hold=True,
    choices={"matter": MATTERS, "severity": SEVERITIES},
    defaults=lambda leg: {"severity": "soon"},
    is_exclusive=True,
    propose_label="Get help from our safety team",
    description="Tell our safety team what happened",
    transitions=(
        Transition(
            "resolve",
            STAFF,
            (OPEN,),
            RESOLVED,
            "Our safety team has reviewed this. You can message each other again.",
            input_model=Decision,
            effect=record_decision,
        ),
    ),
)
