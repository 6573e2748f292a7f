"""Proposes cards, in one SQL transaction with checks of role, status and idempotency key."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone
from pydantic import BaseModel

from accounts.models import User
from contracts import status
from contracts.cards.card_type import (
    BUYER,
    EITHER,
    SELLER,
    BookingState,
    CardType,
    TransitionContext,
    list_users_with_role,
)
from contracts.cards.deadlines import is_paused
from contracts.cards.locks import lock_leg
from contracts.cards.payloads import check_files, content_hash, parse_input
from contracts.cards.steps import CardResult, list_unprocessed_entries, queue_update, record_step
from contracts.cards.superseding import OFFER
from contracts.cards.types import TYPES
from contracts.currencies import DEFAULT_CURRENCY
from contracts.models import Leg
from contracts.models.cards import Card
from contracts.refusals import not_found
from contracts.schedule import lock_seller
from core.refusals import Refusal

PROPOSED = "propose"
NO_BOOKING = "Available once you have a booking."
WARNED_BEFORE = timedelta(days=1)


@dataclass(frozen=True)
class CardSubject:
    """What a card is about. Only an offer of a new booking has no leg."""

    thread_id: str
    buyer: User
    seller: User
    leg: Leg | None


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
    on_created: Callable[[Card], None] | None = None,
    locale: str = "",
) -> CardResult:
    """`files` are stored descriptions; `on_created` reserves the files in the same transaction."""
    kind = get_card_type(type_name)
    leg = lock_leg(leg_id)
    if leg is None or leg.thread_id != thread_id or user.id not in leg.parties:
        raise not_found("booking")
    proposal = parse_input(kind.proposal, given, currency=leg.currency, locale=locale)
    before = Card.objects.filter(proposed_by=user, key=key).first()
    if before is not None:
        return _repeat(before, kind, content_hash(proposal))
    check_can_propose(kind, user, leg)
    check_files(kind, files)
    subject = CardSubject(thread_id, leg.buyer, leg.seller, leg)
    done = create_card(kind, subject, user, key, proposal, files=files)
    if on_created:
        on_created(done.card)
    return done


@transaction.atomic
def propose_offer(
    user: User, *, thread_id: str, buyer: User, seller: User, key: str, given: dict[str, Any]
) -> CardResult:
    """Proposes new bookings. A change of a booking is proposed by `propose`."""
    lock_seller(seller.id)
    kind = TYPES[OFFER]
    proposal = parse_input(kind.proposal, given, currency=DEFAULT_CURRENCY)
    before = Card.objects.filter(proposed_by=user, key=key).first()
    if before is not None:
        return _repeat(before, kind, content_hash(proposal))
    return create_card(kind, CardSubject(thread_id, buyer, seller, None), user, key, proposal)


def get_card_type(name: str) -> CardType:
    kind = TYPES.get(name)
    if kind is None:
        raise not_found("card")
    return kind


def check_can_propose(kind: CardType, user: User, leg: Leg) -> None:
    """The caller has locked the leg, or only shows the form."""
    role = BUYER if user.id == leg.buyer_id else SELLER
    same = Card.objects.filter(leg=leg, type=kind.name, is_open=True)
    open_types = frozenset({kind.name} if kind.is_exclusive and same.exists() else ())
    refusal = find_refusal(kind, role, BookingState(leg.status, open_types))
    if refusal:
        raise refusal


def find_refusal(kind: CardType, role: str, state: BookingState) -> Refusal | None:
    """Why a party with this role cannot propose a card now. Reads nothing."""
    if kind.by not in (role, EITHER):
        return Refusal("ACTION_FORBIDDEN", f"Only the {kind.by} can propose this.")
    if refusal := status.find_refusal(state.status, status.proposal_action(kind.name)):
        return refusal
    if kind.is_exclusive and kind.name in state.open_types:
        return Refusal(
            "ACTION_INVALID_STATE",
            "There's already an open proposal of this kind.",
            hint="Answer or withdraw it first.",
        )
    return None


def explain_unavailable(kind: CardType, role: str, states: Sequence[BookingState]) -> str:
    """Why a card type cannot be proposed for any booking of a thread; empty if it can."""
    reasons = [_reason(kind, role, state) for state in states]
    return "" if "" in reasons else next(iter(reasons), NO_BOOKING)


def _reason(kind: CardType, role: str, state: BookingState) -> str:
    if refusal := find_refusal(kind, role, state):
        return refusal.message
    return kind.obstacle(state) if kind.obstacle else ""


def _repeat(card: Card, kind: CardType, proposal_hash: str) -> CardResult:
    if (card.type, card.seal) != (kind.name, proposal_hash):
        raise Refusal("CLIENT_ID_REUSED", "This was already proposed with other terms.")
    return CardResult(card, list_unprocessed_entries(card))


def create_card(
    kind: CardType,
    subject: CardSubject,
    user: User,
    key: str,
    proposal: BaseModel,
    counters: Card | None = None,
    files: Sequence[dict[str, Any]] = (),
) -> CardResult:
    payload = kind.build_payload(subject.leg, proposal, user)
    if files:
        payload["files"] = list(files)
    if counters is not None and counters.type == kind.name:
        payload["round"] = counters.payload.get("round", 1) + 1
    card = Card(
        type=kind.name,
        thread_id=subject.thread_id,
        leg=subject.leg,
        buyer=subject.buyer,
        seller=subject.seller,
        proposed_by=user,
        key=key,
        seal=content_hash(proposal),
        payload=payload,
        counters=counters,
    )
    return store_card(kind, card, proposal)


def store_card(kind: CardType, card: Card, proposal: BaseModel) -> CardResult:
    """Stores a new card in its first state, with its deadline, its first step and its effect."""
    now, leg, user = timezone.now(), card.leg, card.proposed_by
    card.state, card.created_at = kind.first, now
    card.due_at = round_up_to_minute(kind.due(leg, card.payload, now)) if kind.due else None
    if card.due_at and is_paused(card.thread_id):
        card.stopped_at = now
    if card.due_at and card.due_at <= now + WARNED_BEFORE:
        # Both parties see the deadline on the new card.
        card.warned_at = now
    if kind.initially_awaited and leg:
        card.waits_for = kind.initially_awaited(leg, card.payload)
    else:
        card.waits_for = list_users_with_role(kind.waits[kind.first], card)
    card.save(force_insert=True)
    context = TransitionContext(card, leg, user, proposal, now, card.state)
    record_step(card, "", PROPOSED, context, card.key, "")
    # The card's entry comes before those of its effect: a hold would postpone it.
    entries = [queue_update(card, user, "")]
    if kind.effect:
        kind.effect(context)
    return CardResult(card, entries + context.entries)


def round_up_to_minute(moment: datetime) -> datetime:
    """Rounds up, because deadlines are shown to the minute."""
    minute = moment.replace(second=0, microsecond=0)
    return minute if minute == moment else minute + timedelta(minutes=1)
