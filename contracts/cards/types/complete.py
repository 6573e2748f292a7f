"""The work is done: the buyer looks at it, and if nothing is said in time it is accepted."""

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
from contracts.money import amount
from contracts.queries import format_outstanding, get_balance, is_in_force
from core.refusals import Refusal

TIME, MILESTONE = "time", "milestone"
HOW = {TIME: "The booked time is over", MILESTONE: "The proofs are approved"}


class Complete(BaseModel):
    how: Literal["time", "milestone"]
    note: Note = ""


def write(leg: Leg, given: Complete, by: User) -> Payload:
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
        raise Refusal("CARD_INVALID", "The booking is not over yet.")
    if how == MILESTONE and not is_approved(leg):
        raise Refusal("CARD_INVALID", "No proofs of this booking are approved yet.")


def check_can_be_completed(leg: Leg, *, card: Card | None = None) -> None:
    """When it is proposed, and again when it is accepted, by the buyer or by the clock."""
    if not is_in_force(leg):
        raise Refusal(
            "ACTION_INVALID_STATE",
            "The contract is not signed by both of you yet.",
            hint="Sign it first. A booking is completed under a contract that is in force.",
        )
    if items := open_items(leg, card=card):
        said = "; ".join(f"{item['label']}: {item['what']}" for item in items)
        raise Refusal(
            "ACTION_INVALID_STATE",
            f"Something about this booking is still open. {said}.",
            hint="Accept, decline or withdraw it first. The actions tab lists it.",
        )


def open_items(leg: Leg, *, card: Card | None = None) -> list[dict[str, str]]:
    """Other cards of the booking, and changes of it, that somebody has to answer."""
    cards = leg.cards.filter(is_open=True).exclude(pk=card.pk if card else None).order_by("id")
    changes = leg.proposed_changes.filter(status=PENDING).order_by("id")
    return [_open_card(each) for each in cards] + [
        {"label": "Change", "what": offer.title, "offer": offer.id} for offer in changes
    ]


def _open_card(card: Card) -> dict[str, str]:
    # The types are listed in the package that imports this module.
    from contracts.cards.types import TYPES

    kind = TYPES.get(card.type)
    if kind is None:
        return {"label": "Action", "what": card.type, "card": card.id}
    return {"label": kind.label, "what": kind.summary(card.payload), "card": card.id}


def _accept(act: TransitionContext) -> None:
    """The balance becomes due. That it was paid is for the seller to record."""
    leg, card = act.booking, act.card
    if not is_approved(leg):
        _check_how(leg, TIME, act.at)
    check_can_be_completed(leg, card=card)
    leg.status = COMPLETED
    leg.save(update_fields=["status"])
    balance = get_balance(leg)
    due = amount(balance.due_cents, leg.currency)
    card.payload = card.payload | {"due": balance.due_cents}
    left = format_outstanding(balance.open_cents, leg.currency)
    act.adds = f" {due} is now due." if balance.due_cents else f" {left}"


def due(leg: Leg, payload: Payload, now: datetime) -> datetime:
    return now + timedelta(days=settings.REVIEW_DAYS)


def defaults(leg: Leg) -> dict[str, Any]:
    return {"how": MILESTONE if is_approved(leg) else TIME}


def summary(payload: Payload) -> str:
    return str(payload["service"])


def show(payload: Payload) -> dict[str, Any]:
    shown = {"how": HOW[payload["how"]], "open": amount(payload["open"], payload["currency"])}
    if "due" in payload:
        shown["due"] = amount(payload["due"], payload["currency"])
    return shown


def quote(leg: Leg, by: User) -> dict[str, Any]:
    """Before one proposes it: what is still in the way, and what becomes due."""
    return {
        "open_items": open_items(leg),
        "is_in_force": is_in_force(leg),
        "outstanding": format_outstanding(get_balance(leg).open_cents, leg.currency),
    }


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
    quote=quote,
    choices={"how": HOW},
    defaults=defaults,
    is_alone=True,
    proposes="Mark as completed",
    moves=(
        accept("{name} accepted the work: {what}.", _accept, by=BUYER),
        Transition(
            "dispute",
            BUYER,
            (PENDING,),
            "disputed",
            "{name} does not agree that it is completed: {what}.",
            label="Dispute",
            needs=Dispute,
            then="dispute",
        ),
        Transition(
            "auto_accept",
            DEADLINE,
            (PENDING,),
            "auto_accepted",
            "The time to look at it is over, and the work is accepted: {what}.",
            effect=_accept,
        ),
        withdraw("{name} withdrew the completion: {what}."),
        end_with_booking(),
    ),
)
