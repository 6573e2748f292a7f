"""Calling staff: a case opens, and from that moment no deadline of the thread runs."""

from pydantic import BaseModel

from contracts.cards.card_type import STAFF, TransitionContext
from contracts.cards.deadlines import CASE, pause_deadlines
from contracts.fields import Reason
from core.outbox.models import OutboxEntry

OPEN, RESOLVED = "open", "resolved"
# Of each open state, who has to act.
FOR_STAFF = {OPEN: STAFF}


class Decision(BaseModel):
    """What both are told."""

    reason: Reason


def open_case(
    act: TransitionContext,
    *,
    about: str,
    person: str,
    reason: str,
    comment: str,
    **more: str | bool,
) -> None:
    """What was said is the case's alone, unless the card's payload has it, too."""
    card = act.card
    act.entries += pause_deadlines(card.thread_id, CASE)
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
    act.entries.append(OutboxEntry.objects.create(kind="case", payload=payload))


def record_decision(act: TransitionContext) -> None:
    act.card.payload = act.card.payload | {"decision": act.given.reason}
    act.adds = f" {act.given.reason}"
