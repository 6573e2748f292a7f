"""Rescheduling of a booking."""

from datetime import datetime, timedelta
from typing import Any

from pydantic import BaseModel, Field, model_validator

from accounts.models import User
from contracts.actions.offers import change_leg
from contracts.cards.card_type import (
    ANSWERER,
    DEADLINE,
    EITHER,
    PENDING,
    CardType,
    Payload,
    Transition,
    TransitionContext,
    accept,
    decline,
    end_with_booking,
    withdraw,
)
from contracts.cards.superseding import list_open_changes
from contracts.fields import Moment, Note, format_for_input, format_times, in_zone
from contracts.models import Card, Leg
from contracts.refusals import END_BEFORE_START
from contracts.schedule import (
    Times,
    check_is_available,
    find_date_error,
    list_busy_warnings,
    list_warnings,
)
from contracts.terms import Terms
from core.refusals import Refusal

OPEN_FOR = timedelta(hours=72)


class NewTime(BaseModel):
    """Times without an offset are in the booking's time zone."""

    starts_at: Moment
    ends_at: Moment
    reason: Note = Field("", title="Reason")

    @model_validator(mode="after")
    def _in_order(self) -> "NewTime":
        if self.ends_at.replace(tzinfo=None) <= self.starts_at.replace(tzinfo=None):
            raise ValueError(END_BEFORE_START)
        return self


def build_payload(leg: Leg, given: NewTime, by: User) -> Payload:
    start, end = (in_zone(moment, leg.time_zone) for moment in (given.starts_at, given.ends_at))
    if (start, end) == (leg.starts_at, leg.ends_at):
        raise Refusal("CARD_INVALID", "That's already the agreed time. Choose another one.")
    if wrong := find_date_error((start, end)):
        raise Refusal("CARD_INVALID", wrong)
    check_is_available(leg.seller, (start, end), asked_by=by, leg=leg)
    return {
        "leg": leg.id,
        "service": leg.service,
        "zone": leg.time_zone,
        "old_start": leg.starts_at.isoformat(),
        "old_end": leg.ends_at.isoformat(),
        "new_start": start.isoformat(),
        "new_end": end.isoformat(),
        "reason": given.reason,
    }


def _accept(context: TransitionContext) -> None:
    leg, payload = context.booking, context.card.payload
    start, end = _new_times(payload)
    if start <= context.at:
        # The proposed time may have passed during a hold.
        raise Refusal("ACTION_INVALID_STATE", "That time has passed. Suggest another one.")
    old = tuple(datetime.fromisoformat(payload[name]) for name in ("old_start", "old_end"))
    if old != (leg.starts_at, leg.ends_at):
        raise Refusal(
            "ACTION_INVALID_STATE",
            "The booking time has changed since this was proposed.",
            hint="Propose the new time again.",
        )
    terms = {name: getattr(leg, name) for name in Terms.__dataclass_fields__}
    terms |= {"starts_at": start, "ends_at": end}
    context.superseded += list_open_changes(leg, card=context.card)
    context.entries += change_leg(leg, Terms(**terms), by=context.by or leg.seller, key=context.key)


def list_proposal_warnings(leg: Leg, payload: Payload, by: User) -> list[str]:
    return list_warnings(leg.seller, [_new_times(payload)], viewer=by, leg=leg)


def list_accept_warnings(card: Card, by: User) -> list[str]:
    return list_busy_warnings(card.seller, [_new_times(card.payload)], viewer=by)


def _new_times(payload: Payload) -> Times:
    parse = datetime.fromisoformat
    return parse(payload["new_start"]), parse(payload["new_end"])


def due(leg: Leg, payload: Payload, now: datetime) -> datetime:
    """Three days, or until the booking starts if that is earlier."""
    return min(now + OPEN_FOR, leg.starts_at) if leg.starts_at > now else now + OPEN_FOR


def summary(payload: Payload) -> str:
    return format_times(payload["new_start"], payload["new_end"], payload["zone"])


def show(payload: Payload) -> dict[str, Any]:
    return {
        "old": format_times(payload["old_start"], payload["old_end"], payload["zone"]),
        "new": format_times(payload["new_start"], payload["new_end"], payload["zone"]),
    }


def defaults(leg: Leg) -> dict[str, Any]:
    return {
        name: format_for_input(getattr(leg, name), leg.time_zone)
        for name in ("starts_at", "ends_at")
    }


TYPE = CardType(
    name="reschedule",
    label="New time",
    icon="clock",
    by=EITHER,
    proposal=NewTime,
    build_payload=build_payload,
    summary=summary,
    show=show,
    due=due,
    defaults=defaults,
    warnings=list_proposal_warnings,
    is_exclusive=True,
    propose_label="Propose a new time",
    description="Move the booking to another date or time",
    transitions=(
        accept("{name} accepted the new time: {what}.", _accept, warnings=list_accept_warnings),
        Transition(
            "counter",
            ANSWERER,
            (PENDING,),
            "countered",
            "{name} suggested another time.",
            label="Suggest another time",
            input_model=NewTime,
            next_type="reschedule",
        ),
        decline("{name} declined the new time."),
        withdraw("{name} withdrew the new time."),
        Transition(
            "expire",
            DEADLINE,
            (PENDING,),
            "expired",
            "The new time expired without a reply: {what}.",
        ),
        end_with_booking(),
    ),
)
