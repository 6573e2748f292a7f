"""Cards that need staff: they open a case and pause the deadlines of the thread."""

from pydantic import BaseModel

from contracts.cards.card_type import STAFF, TransitionContext
from contracts.cards.deadlines import CASE, pause_deadlines
from contracts.fields import Reason
from core.outbox.models import OutboxEntry

OPEN, RESOLVED = "open", "resolved"
# The role that has to act in each open state.
FOR_STAFF = {OPEN: STAFF}


class Decision(BaseModel):
    """The decision, shown to both parties."""

    reason: Reason


def open_case(
    context: TransitionContext,
    *,
    about: str,
    person: str,
    reason: str,
    comment: str,
    **more: str | bool,
) -> None:
    """The comment is visible to staff only, unless the card's payload contains it."""
    card = context.card
    context.entries += pause_deadlines(card.thread_id, CASE)
    payload = {
        "about": about,
        "thread": card.thread_id,
        "card": card.id,
        "person": person,
        "reporter": card.proposed_by_id,
        "reason": reason,
        "comment": comment,
        **more,
    }
    context.entries.append(OutboxEntry.objects.create(kind="case", payload=payload))


def record_decision(context: TransitionContext) -> None:
    context.card.payload = context.card.payload | {"decision": context.given.reason}
    context.extra_text = f" {context.given.reason}"
