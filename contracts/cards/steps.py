"""What every step of a card leaves behind: the step itself, and an entry by which the conversation
follows."""

from dataclasses import dataclass, field
from typing import Any

from accounts.models import User
from contracts.actions.revisions import record_change
from contracts.cards.card_type import TransitionContext
from contracts.cards.types import TYPES
from contracts.models.cards import Card, CardStep
from core.outbox.models import OutboxEntry


@dataclass
class CardResult:
    card: Card
    entries: list[OutboxEntry] = field(default_factory=list)


def _why(given: Any) -> str:
    """Under whatever name the type has it; what is for staff alone has none of these."""
    said = (getattr(given, name, "") for name in ("reason", "note", "details"))
    return next((each for each in said if each), "")


def keep(
    card: Card, came_from: str, name: str, act: TransitionContext, key: str, says: str
) -> None:
    CardStep.objects.create(
        card=card,
        version=card.version,
        move=name,
        by=act.by,
        key=key,
        at=act.at,
        from_state=came_from,
        to_state=card.state,
        why=_why(act.given),
        says=says,
    )


def get_step_text(step: CardStep) -> str:
    """What was said of a step. The record never changes; an account deleted since is not named."""
    move = TYPES[step.card.type].find(step.move)
    if step.by is None or step.by.deleted_at is None or move is None:
        return step.says
    if not move.says.startswith("{name}"):
        return step.says
    after_name = move.says.removeprefix("{name}").split("{")[0]
    _, found, rest = step.says.partition(after_name)
    return f"{step.by.display_name}{found}{rest}" if found else step.says


def tell(card: Card, by: User | None, says: str, *, by_staff: bool = False) -> OutboxEntry:
    """A staff decision is delivered even where the conversation is locked or on hold."""
    more = {"by_staff": True} if by_staff else {}
    return record_change(
        card.thread_id,
        by=by if by and by.id in card.parties else card.proposed_by,
        key=f"{card.id}:{card.version}",
        says=says,
        card={"id": card.id, "version": card.version},
        **more,
    )


def list_unprocessed_entries(card: Card) -> list[OutboxEntry]:
    """For a repeat: what the first attempt may have left undone."""
    waiting = OutboxEntry.objects.filter(kind="booking", done_at__isnull=True)
    return list(waiting.filter(payload__thread=card.thread_id).order_by("id"))
