"""Proposing a card: who may, about what, and once. All of it is one SQL transaction."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone
from pydantic import BaseModel

from accounts.models import User
from contracts import status
from contracts.cards.card_type import CardType, TransitionContext, holds, list_users_with_role
from contracts.cards.deadlines import is_paused
from contracts.cards.locks import lock_leg
from contracts.cards.payloads import check_files, read, seal
from contracts.cards.steps import CardResult, keep, list_unprocessed_entries, tell
from contracts.cards.types import TYPES
from contracts.models import Leg
from contracts.models.cards import Card
from core.refusals import Refusal

PROPOSED = "propose"


@transaction.atomic
def propose(
    user: User,
    *,
    type_name: str,
    thread_id: str,
    leg_id: str,
    key: str,
    given: dict[str, Any],
    files: Sequence[dict[str, Any]] = (),
    also: Callable[[Card], None] | None = None,
    locale: str = "",
) -> CardResult:
    """`files` as they are shown; `also` is what whoever keeps them does in this transaction."""
    kind = get_card_type(type_name)
    leg = lock_leg(leg_id)
    if leg is None or leg.thread_id != thread_id or user.id not in leg.parties:
        raise Refusal("THREAD_NOT_FOUND", "There is no such booking.")
    proposal = read(kind.proposal, given, locale)
    before = Card.objects.filter(proposed_by=user, key=key).first()
    if before is not None:
        return _proposed_before(before, kind, seal(proposal))
    check_can_propose(kind, user, leg)
    check_files(kind, files)
    done = create(kind, leg, user, key, proposal, files=files)
    if also:
        also(done.card)
    return done


def get_card_type(name: str) -> CardType:
    kind = TYPES.get(name)
    if kind is None:
        raise Refusal("THREAD_NOT_FOUND", "There is no such card.")
    return kind


def check_can_propose(kind: CardType, user: User, leg: Leg) -> None:
    draft = Card(buyer=leg.buyer, seller=leg.seller, proposed_by=user)
    if not holds(kind.by, user, draft):
        raise Refusal("ACTION_FORBIDDEN", f"This is for the {kind.by} to propose.")
    status.check_status(leg, status.proposal(kind.name))
    if kind.is_alone and Card.objects.filter(leg=leg, type=kind.name, is_open=True).exists():
        raise Refusal(
            "ACTION_INVALID_STATE",
            "There is one of these already that is not answered.",
            hint="Answer it or take it back first.",
        )


def _proposed_before(card: Card, kind: CardType, seal: str) -> CardResult:
    if (card.type, card.seal) != (kind.name, seal):
        raise Refusal("CLIENT_ID_REUSED", "This was already proposed with other terms.")
    return CardResult(card, list_unprocessed_entries(card))


def create(
    kind: CardType,
    leg: Leg,
    user: User,
    key: str,
    proposal: BaseModel,
    counters: Card | None = None,
    files: Sequence[dict[str, Any]] = (),
) -> CardResult:
    now = timezone.now()
    payload = kind.write(leg, proposal, user)
    if files:
        payload["files"] = list(files)
    if counters is not None and counters.type == kind.name:
        payload["round"] = counters.payload.get("round", 1) + 1
    card = Card(
        type=kind.name,
        thread_id=leg.thread_id,
        leg=leg,
        buyer=leg.buyer,
        seller=leg.seller,
        proposed_by=user,
        key=key,
        seal=seal(proposal),
        payload=payload,
        state=kind.first,
        counters=counters,
        created_at=now,
        due_at=round_up_to_minute(kind.due(leg, payload, now)) if kind.due else None,
    )
    if card.due_at and is_paused(card.thread_id):
        card.stopped_at = now
    if kind.waiting:
        card.waits_for = kind.waiting(leg, payload)
    else:
        card.waits_for = list_users_with_role(kind.waits[kind.first], card)
    card.save(force_insert=True)
    act = TransitionContext(card, leg, user, proposal, now, card.state)
    keep(card, "", PROPOSED, act, key, "")
    # The card is in the conversation before what comes of it: a hold would keep it out.
    entries = [tell(card, user, "")]
    if kind.effect:
        kind.effect(act)
    return CardResult(card, entries + act.entries)


def round_up_to_minute(moment: datetime) -> datetime:
    """As it is shown: nothing is due at 23 seconds past."""
    whole = moment.replace(second=0, microsecond=0)
    return whole if whole == moment else whole + timedelta(minutes=1)
