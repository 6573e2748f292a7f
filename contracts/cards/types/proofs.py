"""Proofs that the buyer approves or returns with change requests. Each round is a card, and the
next round answers it."""

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
    withdraw,
)
from contracts.fields import (
    Moment,
    Note,
    WholeNumber,
    field_error,
    format_for_input,
    in_zone,
    normalise_text,
)
from contracts.models import Leg
from core.refusals import Refusal

APPROVED, CHANGES = "approved", "changes_requested"
MAX_PICTURES = 20
DEFAULT_ANSWER_TIME, MAX_ANSWER_TIME = timedelta(days=7), timedelta(days=60)


def _none_if_empty(value: Any) -> Any:
    return None if value == "" else value


def _list_of(value: Any) -> Any:
    """A form with one value sends no list."""
    return [value] if isinstance(value, str) else value


Id = Annotated[str, StringConstraints(max_length=40)]
ShortNote = Annotated[str, BeforeValidator(normalise_text), StringConstraints(max_length=300)]
Count = Annotated[WholeNumber, Field(ge=1, le=MAX_PICTURES)]


class Proofs(BaseModel):
    """`most` is the maximum number of selections; None means any number."""

    until: Moment
    most: Annotated[Count | None, BeforeValidator(_none_if_empty)] = None
    note: Note = ""


class Selection(BaseModel):
    chosen: Annotated[list[Id], BeforeValidator(_list_of), Field(max_length=MAX_PICTURES)] = []


class PictureNote(BaseModel):
    id: Id
    note: ShortNote = ""


class ChangeRequest(BaseModel):
    """Requested changes, for all images or for single ones."""

    note: Note = ""
    notes: Annotated[list[PictureNote], Field(max_length=MAX_PICTURES)] = []

    @model_validator(mode="after")
    def _says_something(self) -> "ChangeRequest":
        self.notes = [one for one in self.notes if one.note]
        if not self.note and not self.notes:
            raise ValueError("Describe the changes, for one photo or for all of them.")
        return self


def build_payload(leg: Leg, given: Proofs, by: User) -> Payload:
    until = in_zone(given.until, leg.time_zone)
    if not timezone.now() < until <= timezone.now() + MAX_ANSWER_TIME:
        raise field_error("until", f"Choose a time within the next {MAX_ANSWER_TIME.days} days.")
    return {
        "service": leg.service,
        "until": until.isoformat(),
        "most": given.most,
        "note": given.note,
    }


def _approve(context: TransitionContext) -> None:
    payload = context.card.payload
    chosen = _of_this_round(payload, context.given.chosen)
    if payload["most"] and len(chosen) > payload["most"]:
        raise field_error("chosen", f"You can select up to {payload['most']}.")
    context.card.payload = payload | {"chosen": chosen}
    if chosen:
        context.extra_text = f" Selected: {len(chosen)} of {len(payload['files'])}."


def _request_changes(context: TransitionContext) -> None:
    payload, given = context.card.payload, context.given
    notes = {one.id: one.note for one in given.notes}
    _of_this_round(payload, list(notes))
    context.card.payload = payload | {"changes": given.note, "notes": notes}


def _of_this_round(payload: Payload, ids: list[str]) -> list[str]:
    """The given ids in display order."""
    shown = [file["id"] for file in payload["files"]]
    if not set(ids) <= set(shown):
        raise Refusal("CARD_INVALID", "This photo isn't one of these proofs.")
    return [each for each in shown if each in ids]


def due(leg: Leg, payload: Payload, now: datetime) -> datetime:
    return datetime.fromisoformat(payload["until"])


def summary(payload: Payload) -> str:
    count = len(payload["files"])
    photos = f"{count} photo{'' if count == 1 else 's'}"
    return f"{payload['service']}, {photos}{_round(payload)}"


def _round(payload: Payload) -> str:
    return f", round {payload['round']}" if "round" in payload else ""


def show(payload: Payload) -> dict[str, Any]:
    count = len(payload["files"])
    most = payload["most"] if payload["most"] and payload["most"] < count else None
    return {"most": most, "is_answered": "chosen" in payload or "notes" in payload}


def defaults(leg: Leg) -> dict[str, Any]:
    return {
        "until": format_for_input(
            timezone.now().replace(minute=0) + DEFAULT_ANSWER_TIME, leg.time_zone
        )
    }


def is_approved(leg: Leg) -> bool:
    """Whether a round of proofs was approved, which is a milestone of the booking."""
    return leg.cards.filter(type=TYPE.name, state=APPROVED).exists()


TYPE = CardType(
    name="proofs",
    label="Proofs",
    icon="image",
    by=SELLER,
    proposal=Proofs,
    build_payload=build_payload,
    summary=summary,
    show=show,
    waits={PENDING: BUYER, CHANGES: SELLER},
    due=due,
    files=(1, MAX_PICTURES),
    files_label="Photos from this device",
    file_kind="image",
    defaults=defaults,
    is_exclusive=True,
    propose_label="Share proofs",
    description="Share photos to choose from and approve",
    transitions=(
        Transition(
            "approve",
            BUYER,
            (PENDING,),
            APPROVED,
            "{name} approved the proofs: {what}.",
            label="Approve",
            tone="primary",
            input_model=Selection,
            effect=_approve,
        ),
        Transition(
            "request_changes",
            BUYER,
            (PENDING,),
            CHANGES,
            "{name} requested changes to the proofs: {what}.",
            label="Request changes",
            input_model=ChangeRequest,
            effect=_request_changes,
        ),
        # The state stays: this round is still the one with change requests.
        Transition(
            "answer",
            SELLER,
            (CHANGES,),
            CHANGES,
            "{name} shared new proofs.",
            label="Share another round",
            tone="primary",
            input_model=Proofs,
            next_type="proofs",
            closes=True,
        ),
        withdraw("{name} withdrew the proofs: {what}.", PENDING, CHANGES),
        Transition(
            "expire", DEADLINE, (PENDING,), "expired", "The proofs expired without a reply: {what}."
        ),
        end_with_booking(PENDING, CHANGES),
    ),
)
