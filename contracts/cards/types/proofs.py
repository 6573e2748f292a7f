"""Previews for the buyer to look at: approved, or sent back with what should change, until they are
right. A round is a card; the next one answers it."""

from datetime import datetime, timedelta
from typing import Annotated, Any

from django.utils import timezone
from pydantic import BaseModel, BeforeValidator, Field, StringConstraints, model_validator

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
    end_with_booking,
)
from contracts.fields import Moment, Note, WholeNumber, in_zone, invalid, plain, typed
from contracts.models import Leg
from core.refusals import Refusal

APPROVED, CHANGES = "approved", "changes_requested"
MAX_PICTURES = 20
USUALLY, MAX_ANSWER_TIME = timedelta(days=7), timedelta(days=60)


def _none_if_empty(value: Any) -> Any:
    return None if value == "" else value


def _list_of(value: Any) -> Any:
    """A form that has one of them sends no list."""
    return [value] if isinstance(value, str) else value


Id = Annotated[str, StringConstraints(max_length=40)]
ShortNote = Annotated[str, BeforeValidator(plain), StringConstraints(max_length=300)]
Count = Annotated[WholeNumber, Field(ge=1, le=MAX_PICTURES)]


class Proofs(BaseModel):
    """`most` is how many the buyer may choose; None: as many as there are."""

    until: Moment
    most: Annotated[Count | None, BeforeValidator(_none_if_empty)] = None
    note: Note = ""


class Selection(BaseModel):
    chosen: Annotated[list[Id], BeforeValidator(_list_of), Field(max_length=MAX_PICTURES)] = []


class PictureNote(BaseModel):
    id: Id
    note: ShortNote = ""


class ChangeRequest(BaseModel):
    """For all of them, or for some."""

    note: Note = ""
    notes: Annotated[list[PictureNote], Field(max_length=MAX_PICTURES)] = []

    @model_validator(mode="after")
    def _says_something(self) -> "ChangeRequest":
        self.notes = [one for one in self.notes if one.note]
        if not self.note and not self.notes:
            raise ValueError("Say what should change, for a picture or for all of them.")
        return self


def write(leg: Leg, given: Proofs, by: User) -> Payload:
    until = in_zone(given.until, leg.time_zone)
    if not timezone.now() < until <= timezone.now() + MAX_ANSWER_TIME:
        raise invalid("until", f"That has to be within the next {MAX_ANSWER_TIME.days} days.")
    return {
        "service": leg.service,
        "until": until.isoformat(),
        "most": given.most,
        "note": given.note,
    }


def _approve(act: TransitionContext) -> None:
    payload = act.card.payload
    chosen = _of_this_round(payload, act.given.chosen)
    if payload["most"] and len(chosen) > payload["most"]:
        raise invalid("chosen", f"At most {payload['most']} can be chosen.")
    act.card.payload = payload | {"chosen": chosen}
    if chosen:
        act.adds = f" Chosen: {len(chosen)} of {len(payload['files'])}."


def _request_changes(act: TransitionContext) -> None:
    payload, given = act.card.payload, act.given
    notes = {one.id: one.note for one in given.notes}
    _of_this_round(payload, list(notes))
    act.card.payload = payload | {"changes": given.note, "notes": notes}


def _of_this_round(payload: Payload, ids: list[str]) -> list[str]:
    """In the order in which they are shown."""
    shown = [file["id"] for file in payload["files"]]
    if not set(ids) <= set(shown):
        raise Refusal("CARD_INVALID", "This picture is not one of these proofs.")
    return [each for each in shown if each in ids]


def due(leg: Leg, payload: Payload, now: datetime) -> datetime:
    return datetime.fromisoformat(payload["until"])


def summary(payload: Payload) -> str:
    count = len(payload["files"])
    pictures = f"{count} picture{'' if count == 1 else 's'}"
    return f"{payload['service']}, {pictures}{_round(payload)}"


def _round(payload: Payload) -> str:
    return f", round {payload['round']}" if "round" in payload else ""


def show(payload: Payload) -> dict[str, Any]:
    count = len(payload["files"])
    most = payload["most"] if payload["most"] and payload["most"] < count else None
    return {"most": most, "is_answered": "chosen" in payload or "notes" in payload}


def defaults(leg: Leg) -> dict[str, Any]:
    return {"until": typed(timezone.now().replace(minute=0) + USUALLY, leg.time_zone)}


def is_approved(leg: Leg) -> bool:
    """The milestone that this is: what was shown is what is wanted."""
    return leg.cards.filter(type=TYPE.name, state=APPROVED).exists()


TYPE = CardType(
    name="proofs",
    label="Proofs",
    icon="image",
    by=SELLER,
    proposal=Proofs,
    write=write,
    summary=summary,
    show=show,
    waits={PENDING: BUYER, CHANGES: SELLER},
    due=due,
    files=(1, MAX_PICTURES),
    files_label="Pictures from this device",
    file_kind="image",
    defaults=defaults,
    is_alone=True,
    proposes="Show proofs",
    moves=(
        Transition(
            "approve",
            BUYER,
            (PENDING,),
            APPROVED,
            "{name} approved the proofs: {what}.",
            label="Choose and approve",
            tone="primary",
            needs=Selection,
            effect=_approve,
        ),
        Transition(
            "request_changes",
            BUYER,
            (PENDING,),
            CHANGES,
            "{name} asked for changes to the proofs: {what}.",
            label="Ask for changes",
            needs=ChangeRequest,
            effect=_request_changes,
        ),
        # Answered it stays what it was: a round in which changes were asked for.
        Transition(
            "answer",
            SELLER,
            (CHANGES,),
            CHANGES,
            "{name} showed the proofs anew.",
            label="Show another round",
            tone="primary",
            needs=Proofs,
            then="proofs",
            ends=True,
        ),
        Transition(
            "expire", DEADLINE, (PENDING,), "expired", "Nobody answered the proofs in time: {what}."
        ),
        end_with_booking(PENDING, CHANGES),
    ),
)
