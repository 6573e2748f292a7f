"""Another time for a booking."""

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
from contracts.fields import Moment, Note, format_times, in_zone, typed
from contracts.models import Leg
from contracts.schedule import check_is_available, find_date_error
from contracts.terms import Terms
from core.refusals import Refusal

OPEN_FOR = timedelta(hours=72)


class NewTime(BaseModel):
    """In the booking's own time zone, as people write it."""

    starts_at: Moment
    ends_at: Moment
    reason: Note = Field("", title="Reason")

    @model_validator(mode="after")
    def _in_order(self) -> "NewTime":
        if self.ends_at.replace(tzinfo=None) <= self.starts_at.replace(tzinfo=None):
            raise ValueError("The end has to come after the start.")
        return self


def write(leg: Leg, given: NewTime, by: User) -> Payload:
    start, end = (in_zone(moment, leg.time_zone) for moment in (given.starts_at, given.ends_at))
    if (start, end) == (leg.starts_at, leg.ends_at):
        raise Refusal("CARD_INVALID", "That is the time which is agreed already.")
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


def _accept(act: TransitionContext) -> None:
    leg, payload = act.booking, act.card.payload
    start, end = (datetime.fromisoformat(payload[name]) for name in ("new_start", "new_end"))
    if start <= act.at:
        # A hold may have outlasted it.
        raise Refusal("ACTION_INVALID_STATE", "That time is over. Propose another one.")
    old = tuple(datetime.fromisoformat(payload[name]) for name in ("old_start", "old_end"))
    if old != (leg.starts_at, leg.ends_at):
        raise Refusal(
            "ACTION_INVALID_STATE",
            "The time of this booking was changed since this was proposed.",
            hint="Propose the new time again.",
        )
    terms = {name: getattr(leg, name) for name in Terms.__dataclass_fields__}
    terms |= {"starts_at": start, "ends_at": end}
    act.entries += change_leg(leg, Terms(**terms), by=act.by or leg.seller, key=act.key)


def due(leg: Leg, payload: Payload, now: datetime) -> datetime:
    """Three days, or until the booking would begin."""
    return min(now + OPEN_FOR, leg.starts_at) if leg.starts_at > now else now + OPEN_FOR


def summary(payload: Payload) -> str:
    return format_times(payload["new_start"], payload["new_end"], payload["zone"])


def show(payload: Payload) -> dict[str, Any]:
    return {
        "old": format_times(payload["old_start"], payload["old_end"], payload["zone"]),
        "new": format_times(payload["new_start"], payload["new_end"], payload["zone"]),
    }


def defaults(leg: Leg) -> dict[str, Any]:
    return {name: typed(getattr(leg, name), leg.time_zone) for name in ("starts_at", "ends_at")}


TYPE = CardType(
    name="reschedule",
    label="New time",
    icon="clock",
    by=EITHER,
    proposal=NewTime,
    write=write,
    summary=summary,
    show=show,
    due=due,
    defaults=defaults,
    is_alone=True,
    proposes="Propose a new time",
    moves=(
        accept("{name} accepted the new time: {what}.", _accept),
        Transition(
            "counter",
            ANSWERER,
            (PENDING,),
            "countered",
            "{name} answered with another time.",
            label="Propose another time",
            needs=NewTime,
            then="reschedule",
        ),
        decline("{name} declined the new time."),
        withdraw("{name} took the new time back."),
        Transition(
            "expire",
            DEADLINE,
            (PENDING,),
            "expired",
            "Nobody answered the new time in time: {what}.",
        ),
        end_with_booking(),
    ),
)
