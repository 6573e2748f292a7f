"""Somebody does not feel safe: nobody writes in the conversation until staff have acted."""

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

# As reports name them.
MATTERS = {
    "danger": "A threat, or somebody is in danger",
    "harassment": "Harassment or insults",
    "sexual": "Sexual content that nobody asked for",
    "fraud": "Fraud, or a false identity",
    "other": "Something else",
}
SEVERITIES = {"soon": "Soon", "urgent": "At once"}


class Safety(BaseModel):
    matter: Literal["danger", "harassment", "sexual", "fraud", "other"]
    severity: Literal["soon", "urgent"] = "soon"
    notes: Reason


def write(leg: Leg, given: Safety, by: User) -> Payload:
    """What was said is for staff: the other side sees that there is a case, and nothing of it."""
    return {"service": leg.service}


def _call(act: TransitionContext) -> None:
    card, given = act.card, act.given
    open_case(
        act,
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
    write=write,
    summary=summary,
    show=lambda payload: {},
    first=OPEN,
    waits=FOR_STAFF,
    effect=_call,
    is_hold=True,
    choices={"matter": MATTERS, "severity": SEVERITIES},
    defaults=lambda leg: {"severity": "soon"},
    is_alone=True,
    proposes="Call our safety team",
    moves=(
        Transition(
            "resolve",
            STAFF,
            (OPEN,),
            RESOLVED,
            "Our safety team has looked at it, and the conversation goes on.",
            needs=Decision,
            effect=record_decision,
        ),
    ),
)
