"""Applies transitions to cards, with checks of role, state, version and idempotency key.

A transition is one SQL transaction: the card, its step, the changes to the booking, and the outbox
entry for DynamoDB. A concurrent transition waits for the lock and then sees the new state.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from contracts import status
from contracts.cards.card_type import (
    DEADLINE,
    STAFF,
    CardType,
    Transition,
    TransitionContext,
    has_role,
    list_users_with_role,
)
from contracts.cards.deadlines import refresh_card
from contracts.cards.locks import access_card, lock_card
from contracts.cards.payloads import check_files, parse_input
from contracts.cards.proposals import CardSubject, create_card, round_up_to_minute
from contracts.cards.steps import (
    CardResult,
    get_step_text,
    list_unprocessed_entries,
    queue_update,
    record_step,
)
from contracts.cards.superseding import SUPERSEDE
from contracts.cards.types import TYPES
from contracts.currencies import DEFAULT_CURRENCY
from contracts.models import Leg, Offer
from contracts.models.bookings import CANCELLED, COMPLETED, PENDING
from contracts.models.cards import Card, CardStep
from contracts.refusals import NOT_YOUR_DECISION
from core.outbox.models import OutboxEntry
from core.refusals import Refusal

FINAL_STATUSES = (COMPLETED, CANCELLED)
# The delay before a refused deadline transition is retried.
DEADLINE_RETRY = timedelta(days=1)


def apply_transition(
    user: User | None,
    *,
    card_id: str,
    name: str,
    version: int,
    key: str,
    given: dict[str, Any] | None = None,
    files: Sequence[dict[str, Any]] = (),
    on_created: Callable[[Card], None] | None = None,
    locale: str = "",
) -> CardResult:
    """Applies a transition once per key; a repeat returns the same result. `files` and
    `on_created` are for the follow-up card, as in `propose`."""
    card = access_card(user, card_id)
    if user is not None and is_due(card):
        # The deadline has passed, even if the worker has not processed it yet.
        apply_due_transition(card.id)
    return _apply(user, card_id, name, version, key, given or {}, files, on_created, locale)


def apply_decision(
    staff: User, *, card_id: str, name: str, key: str, given: dict[str, Any]
) -> CardResult:
    """Applies a staff decision. The caller checks that there is a case and writes the audit
    entry."""
    card = access_card(None, card_id)
    return _apply(staff, card_id, name, card.version, key, given)


@transaction.atomic
def _apply(
    user: User | None,
    card_id: str,
    name: str,
    version: int,
    key: str,
    given: dict[str, Any],
    files: Sequence[dict[str, Any]] = (),
    on_created: Callable[[Card], None] | None = None,
    locale: str = "",
) -> CardResult:
    card, leg = lock_card(card_id)
    kind = TYPES[card.type]
    transition = kind.find_transition(name)
    if transition is None:
        raise Refusal("THREAD_NOT_FOUND", "This card doesn't have that action.")
    before = CardStep.objects.filter(card=card, by=user, key=key).first()
    if before is not None:
        return _repeat(card, before, name)
    _check(card, leg, transition, user, version)
    context = TransitionContext(
        card,
        leg,
        user,
        _parse(transition, given, leg, locale),
        timezone.now(),
        transition.to,
        key=f"{card.id}:{card.version + 1}:effect",
    )
    entries = _store_step(transition, context, key)
    if transition.next_type:
        following = _create_next(TYPES[transition.next_type], context, files)
        entries += following.entries
        if on_created:
            on_created(following.card)
    if not transition.is_announced:
        # After the message of the next card, which also updates the pending actions.
        entries.append(refresh_card(card))
    entries += _close_superseded(card, context)
    if leg is not None and leg.status in FINAL_STATUSES:
        entries += _end_others(card, leg, context)
    return CardResult(card, entries)


def _parse(transition: Transition, given: dict[str, Any], leg: Leg | None, locale: str) -> Any:
    """Only cards about a booking have amounts."""
    if transition.input_model is None:
        return None
    currency = leg.currency if leg else DEFAULT_CURRENCY
    return parse_input(transition.input_model, given, currency=currency, locale=locale)


def _store_step(transition: Transition, context: TransitionContext, key: str) -> list[OutboxEntry]:
    card, kind = context.card, TYPES[context.card.type]
    if transition.effect:
        transition.effect(context)
    from_state = card.state
    _store(card, kind, context, transition)
    text = _make_text(transition, kind, context) + context.extra_text
    record_step(card, from_state, transition.name, context, key, text)
    if not transition.is_announced:
        return context.entries
    return [queue_update(card, context.by, text, by_staff=transition.by == STAFF), *context.entries]


def _store(card: Card, kind: CardType, context: TransitionContext, transition: Transition) -> None:
    card.state, card.version = context.to, card.version + 1
    card.is_open = kind.is_open(context.to) and not transition.closes
    if context.waits_for is None:
        context.waits_for = (
            list_users_with_role(kind.waits[context.to], card) if card.is_open else []
        )
    card.waits_for = context.waits_for
    deadline = kind.deadline_transition
    if not card.is_open or deadline is None or card.state not in deadline.sources:
        card.due_at = card.stopped_at = None
    card.save()
    if card.offer_id is not None:
        _answer_offer(card, context)


def _answer_offer(card: Card, context: TransitionContext) -> None:
    """The only place that changes the status of an offer."""
    pending = Offer.objects.filter(pk=card.offer_id, status=PENDING)
    if not pending.update(status=card.state, answered_by=context.by, answered_at=context.at):
        raise Refusal("ACTION_INVALID_STATE", "This offer was already answered.")


def _create_next(
    kind: CardType, context: TransitionContext, files: Sequence[dict[str, Any]]
) -> CardResult:
    """Creates the next card of the chain. Its key is unique to this version of the card."""
    assert context.by is not None
    check_files(kind, files)
    card = context.card
    subject = CardSubject(card.thread_id, card.buyer, card.seller, context.leg)
    key = f"{card.id}:{card.version}"
    return create_card(kind, subject, context.by, key, context.given, counters=card, files=files)


def _check(
    card: Card, leg: Leg | None, transition: Transition, user: User | None, version: int
) -> None:
    if not has_role(transition.by, user, card):
        raise Refusal("ACTION_FORBIDDEN", NOT_YOUR_DECISION)
    if card.state not in transition.sources or not card.is_open:
        raise _already_answered(card)
    if card.version != version:
        raise Refusal(
            "ACTION_INVALID_STATE",
            "This has changed since you opened it.",
            hint="Reload the page and try again.",
        )
    if user is not None and is_due(card):
        raise Refusal("CARD_EXPIRED")
    if leg is not None:
        status.check_status(leg, status.transition_action(card.type, transition.name))


def _already_answered(card: Card) -> Refusal:
    """The refusal explains what happened in the meantime."""
    last = card.steps.last()
    made = TYPES[card.type].find_transition(last.move) if last else None
    if last and made and made.by == DEADLINE:
        return Refusal("CARD_EXPIRED", last.says)
    happened = (
        get_step_text(last) if last and last.says else f"It's {card.state.replace('_', ' ')}."
    )
    return Refusal("ACTION_INVALID_STATE", f"This was already answered. {happened}")


def _repeat(card: Card, step: CardStep, name: str) -> CardResult:
    if step.move != name:
        raise Refusal("CLIENT_ID_REUSED", "You already answered this differently.")
    return CardResult(card, list_unprocessed_entries(card))


def _make_text(transition: Transition, kind: CardType, context: TransitionContext) -> str:
    return transition.text.format(
        name=context.by.display_name if context.by else "",
        what=kind.summary(context.card.payload),
        status=context.leg.status.replace("_", " ") if context.leg else "",
    )


# --- Transitions without a user


def is_due(card: Card) -> bool:
    return card.due_at is not None and card.stopped_at is None and card.due_at <= timezone.now()


def apply_due_transition(card_id: str) -> CardResult | None:
    """Applies the deadline transition. Returns None if the card is not due or changed meanwhile."""
    card = access_card(None, card_id)
    transition = TYPES[card.type].deadline_transition
    if transition is None or card.state not in transition.sources or not is_due(card):
        return None
    try:
        with transaction.atomic():
            locked, _ = lock_card(card_id)
            if locked.version != card.version or not is_due(locked):
                return None
            return _apply(None, card_id, transition.name, card.version, f"clock-{card.version}", {})
    except Refusal:
        _postpone(card_id)
        return None


@transaction.atomic
def _postpone(card_id: str) -> None:
    """Extends the deadline after a refusal, so that users can still answer. The outbox entry shows
    them the new deadline."""
    card, _ = lock_card(card_id)
    if card.due_at is not None and is_due(card):
        card.due_at = round_up_to_minute(timezone.now() + DEADLINE_RETRY)
        card.save(update_fields=["due_at"])
        refresh_card(card)


def _close_superseded(card: Card, context: TransitionContext) -> list[OutboxEntry]:
    """Closes the other offers for the same work. The system message about `card` comes first and
    updates the pending actions."""
    entries = []
    for other in context.superseded:
        transition = TYPES[other.type].find_transition(SUPERSEDE)
        assert transition is not None
        closing = TransitionContext(other, context.leg, context.by, None, context.at, transition.to)
        entries += _store_step(transition, closing, f"{card.id}:{card.version}")
        entries.append(refresh_card(other))
    return entries


def _end_others(card: Card, leg: Leg, context: TransitionContext) -> list[OutboxEntry]:
    """Closes the other open cards of a booking that ended, except those that wait for staff."""
    entries = []
    others = Card.objects.filter(leg=leg, is_open=True).exclude(pk=card.pk).order_by("id")
    for other in others.select_related("buyer", "seller", "proposed_by"):
        if other.type not in TYPES:
            # Only a newer version can close such a card.
            raise Refusal("TRY_AGAIN")
        transition = TYPES[other.type].system_transition(other.state)
        if transition is not None:
            ending = TransitionContext(other, leg, None, None, context.at, transition.to)
            entries += _store_step(transition, ending, f"{card.id}:{card.version}")
    return entries
