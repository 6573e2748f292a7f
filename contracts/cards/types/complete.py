"""The work is done: the buyer looks at it, and if nothing is said in time it is accepted."""

from datetime import datetime, timedelta
from typing import Any, Literal

from django.conf import settings
from django.utils import timezone
from pydantic import BaseModel

from accounts.models import User
from accounts.refusals import Refusal
from contracts.actions.payments import settle_finally
from contracts.cards.fields import Note
from contracts.cards.table import (
    BUYER,
    CLOCK,
    PENDING,
    SELLER,
    Act,
    CardType,
    Move,
    Payload,
    accept,
    ends_with_the_booking,
)
from contracts.cards.types.dispute import Dispute
from contracts.cards.types.proofs import is_approved
from contracts.models import Leg
from contracts.models.bookings import COMPLETED
from contracts.money import amount
from contracts.queries import balance_of

TIME, MILESTONE = "time", "milestone"
HOW = {TIME: "The time is over", MILESTONE: "What was agreed is delivered"}


class Complete(BaseModel):
    how: Literal["time", "milestone"]
    note: Note = ""


def write(leg: Leg, given: Complete, by: User) -> Payload:
    if given.how == TIME and leg.ends_at > timezone.now():
        raise Refusal("CARD_INVALID", "The booking is not over yet.")
    return {
        "service": leg.service,
        "how": given.how,
        "note": given.note,
        "open": balance_of(leg).open_cents,
        "currency": leg.currency,
    }


def _accept(act: Act) -> None:
    leg = act.booking
    leg.status = COMPLETED
    leg.save(update_fields=["status"])
    receipt, entries = settle_finally(leg, key=f"{act.card.id}:final")
    act.entries += entries
    if receipt is not None:
        act.adds = f" The final receipt is number {receipt.number}."


def due(leg: Leg, payload: Payload, now: datetime) -> datetime:
    return now + timedelta(days=settings.REVIEW_DAYS)


def defaults(leg: Leg) -> dict[str, Any]:
    return {"how": MILESTONE if is_approved(leg) else TIME}


def summary(payload: Payload) -> str:
    return str(payload["service"])


def show(payload: Payload) -> dict[str, Any]:
    return {"how": HOW[payload["how"]], "open": amount(payload["open"], payload["currency"])}


TYPE = CardType(
    name="complete",
    label="Completed",
    icon="badge-check",
    by=SELLER,
    proposal=Complete,
    write=write,
    summary=summary,
    show=show,
    due=due,
    choices={"how": HOW},
    defaults=defaults,
    is_alone=True,
    proposes="Mark as completed",
    moves=(
        accept("{name} accepted the work: {what}.", _accept, by=BUYER),
        Move(
            "dispute",
            BUYER,
            (PENDING,),
            "disputed",
            "{name} does not agree that it is completed: {what}.",
            label="Dispute",
            needs=Dispute,
            then="dispute",
        ),
        Move(
            "auto_accept",
            CLOCK,
            (PENDING,),
            "auto_accepted",
            "The time to look at it is over, and the work is accepted: {what}.",
            effect=_accept,
        ),
        ends_with_the_booking(),
    ),
)
