"""Records the steps of cards and queues their outbox entries."""

from dataclasses import dataclass, field
from typing import Any

from accounts.models import User
from contracts.actions.revisions import record_change
from contracts.cards.card_type import TransitionContext
from contracts.cards.types import TYPES
from contracts.models.cards import Card, CardStep
from core.outbox.models import OutboxEntry

# Texts of earlier releases, by card type and transition: immutable steps still contain them.
EARLIER_TEXTS = {
    ("cancel", "decline"): "{name} does not want to cancel: {what}.",
    ("complete", "dispute"): "{name} does not agree that it is completed: {what}.",
    ("extras", "counter"): "{name} answered with other extras.",
    ("extras", "withdraw"): "{name} took the extras back.",
    ("proofs", "answer"): "{name} showed the proofs anew.",
    ("proofs", "request_changes"): "{name} asked for changes to the proofs: {what}.",
    ("reschedule", "counter"): "{name} answered with another time.",
    ("reschedule", "withdraw"): "{name} took the new time back.",
    ("sign", "decline"): "{name} does not sign: {what}.",
}


@dataclass
class CardResult:
    card: Card
    entries: list[OutboxEntry] = field(default_factory=list)


def _why(given: Any) -> str:
    """The reason in the input, under any of its names. Input for staff only has none of these."""
    texts = (getattr(given, name, "") for name in ("reason", "note", "details"))
    return next((each for each in texts if each), "")


def record_step(
    card: Card, from_state: str, name: str, context: TransitionContext, key: str, text: str
) -> None:
    CardStep.objects.create(
        card=card,
        version=card.version,
        move=name,
        by=context.by,
        key=key,
        at=context.at,
        from_state=from_state,
        to_state=card.state,
        why=_why(context.given),
        says=text,
    )


def get_step_text(step: CardStep) -> str:
    """The text of a step. The record is immutable, so the name of a deleted account is replaced."""
    transition = TYPES[step.card.type].find_transition(step.move)
    if step.by is None or step.by.deleted_at is None or transition is None:
        return step.says
    earlier = EARLIER_TEXTS.get((step.card.type, step.move), "")
    for text in filter(None, (transition.text, earlier)):
        after_name = text.removeprefix("{name}").split("{")[0]
        _, found, rest = step.says.partition(after_name)
        if text.startswith("{name}") and found:
            return f"{step.by.display_name}{found}{rest}"
    return step.says


def queue_update(card: Card, by: User | None, text: str, *, by_staff: bool = False) -> OutboxEntry:
    """Queues the update of a card. A staff decision is delivered even to a locked thread."""
    more = {"by_staff": True} if by_staff else {}
    return record_change(
        card.thread_id,
        by=by if by and by.id in card.parties else card.proposed_by,
        key=f"{card.id}:{card.version}",
        text=text,
        card={"id": card.id, "version": card.version},
        **more,
    )


def list_unprocessed_entries(card: Card) -> list[OutboxEntry]:
    """For a repeat: entries that the first attempt may not have processed."""
    pending = OutboxEntry.objects.filter(kind="booking", done_at__isnull=True)
    return list(pending.filter(payload__thread=card.thread_id).order_by("id"))
