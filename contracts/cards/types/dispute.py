"""Something is wrong with the work: staff look at it, and until they have, the booking waits."""

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
    "not_delivered": "It was not delivered",
    "not_as_agreed": "It is not what was agreed",
    "money": "The money is not right",
    "other": "Something else",
}


class Dispute(BaseModel):
    matter: Literal["not_delivered", "not_as_agreed", "money", "other"]
    details: Reason


def write(leg: Leg, given: Dispute, by: User) -> Payload:
    return {
        "service": leg.service,
        "matter": given.matter,
        "details": given.details,
        # What the booking was until then: it is that again when staff have decided.
        "before": leg.status,
    }


def _hold(act: TransitionContext) -> None:
    card, leg = act.card, act.booking
    leg.status = ON_HOLD
    leg.save(update_fields=["status"])
    said = f"{MATTERS[card.payload['matter']]}. {card.payload['details']}"
    open_case(act, about="dispute", person=card.seller_id, reason="other", comment=said)
    act.entries += refresh_other_cards(card, act.entries)


def _resolve(act: TransitionContext) -> None:
    act.booking.status = act.card.payload["before"]
    act.booking.save(update_fields=["status"])
    record_decision(act)
    act.entries += refresh_other_cards(act.card, act.entries)


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
    write=write,
    summary=summary,
    show=show,
    first=OPEN,
    waits=FOR_STAFF,
    effect=_hold,
    files=(0, 5),
    files_label="Evidence",
    choices={"matter": MATTERS},
    is_alone=True,
    proposes="Open a dispute",
    moves=(
        Transition(
            "resolve",
            STAFF,
            (OPEN,),
            RESOLVED,
            "Our safety team has decided the dispute, and the booking is no longer on hold.",
            needs=Decision,
            effect=_resolve,
        ),
    ),
)
