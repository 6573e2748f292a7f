"""Moving a card: who may, from where to where, and once.

All of a move is one SQL transaction: the card, the step that is kept of it, what it changes of the
booking, and the outbox entry by which the conversation follows. Whoever comes second waits for the
first, and then reads what has become of the card.
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
    holds,
    list_users_with_role,
)
from contracts.cards.deadlines import refresh
from contracts.cards.locks import access_card, lock_card
from contracts.cards.payloads import check_files, read
from contracts.cards.proposals import create, round_up_to_minute
from contracts.cards.steps import CardResult, get_step_text, keep, list_unprocessed_entries, tell
from contracts.cards.types import TYPES
from contracts.models import Leg
from contracts.models.bookings import CANCELLED, COMPLETED
from contracts.models.cards import Card, CardStep
from core.outbox.models import OutboxEntry
from core.refusals import Refusal

OVER = (COMPLETED, CANCELLED)
# How long the clock waits before it tries a move again that was refused.
CLOCK_RETRY = timedelta(days=1)


def move(
    user: User | None,
    *,
    card_id: str,
    name: str,
    version: int,
    key: str,
    given: dict[str, Any] | None = None,
    files: Sequence[dict[str, Any]] = (),
    also: Callable[[Card], None] | None = None,
    locale: str = "",
) -> CardResult:
    """Once: whoever repeats it with the same key gets the same answer. `files` and `also` are for
    the card that comes of it, as when one is proposed."""
    card = access_card(user, card_id)
    if user is not None and is_due(card):
        # The clock was first, whether or not anybody was there to see it.
        apply_due_transition(card.id)
    return _move(user, card_id, name, version, key, given or {}, files, also, locale)


def decide(staff: User, *, card_id: str, name: str, key: str, given: dict[str, Any]) -> CardResult:
    """By staff, who are no party to it. That they have a case, and the record of it, is for whoever
    calls this to see to."""
    card = access_card(None, card_id)
    return _move(staff, card_id, name, card.version, key, given)


@transaction.atomic
def _move(
    user: User | None,
    card_id: str,
    name: str,
    version: int,
    key: str,
    given: dict[str, Any],
    files: Sequence[dict[str, Any]] = (),
    also: Callable[[Card], None] | None = None,
    locale: str = "",
) -> CardResult:
    card, leg = lock_card(card_id)
    kind = TYPES[card.type]
    chosen = kind.find(name)
    if chosen is None:
        raise Refusal("THREAD_NOT_FOUND", "A card of this type has no such move.")
    before = CardStep.objects.filter(card=card, by=user, key=key).first()
    if before is not None:
        return _moved_before(card, before, name)
    _check(card, leg, chosen, user, version)
    act = TransitionContext(
        card,
        leg,
        user,
        read(chosen.needs, given, locale) if chosen.needs else None,
        timezone.now(),
        chosen.to,
        key=f"{card.id}:{card.version + 1}:effect",
    )
    entries = _make(chosen, act, key)
    if chosen.then:
        follower = _follow(TYPES[chosen.then], act, files)
        entries += follower.entries
        if also:
            also(follower.card)
    if leg is not None and leg.status in OVER:
        entries += _end_others(card, leg, act)
    return CardResult(card, entries)


def _make(chosen: Transition, act: TransitionContext, key: str) -> list[OutboxEntry]:
    card, kind = act.card, TYPES[act.card.type]
    if chosen.effect:
        chosen.effect(act)
    came_from = card.state
    _store(card, kind, act, chosen)
    says = _says(chosen, kind, act) + act.adds
    keep(card, came_from, chosen.name, act, key, says)
    return [tell(card, act.by, says, by_staff=chosen.by == STAFF), *act.entries]


def _store(card: Card, kind: CardType, act: TransitionContext, chosen: Transition) -> None:
    card.state, card.version = act.to, card.version + 1
    card.is_open = kind.is_open(act.to) and not chosen.ends
    if act.waits_for is None:
        act.waits_for = list_users_with_role(kind.waits[act.to], card) if card.is_open else []
    card.waits_for = act.waits_for
    clock = kind.deadline_transition
    if not card.is_open or clock is None or card.state not in clock.sources:
        card.due_at = card.stopped_at = None
    card.save()


def _follow(kind: CardType, act: TransitionContext, files: Sequence[dict[str, Any]]) -> CardResult:
    """The next card of the chain, under a name that this version of this card gives to no other."""
    assert act.by is not None
    check_files(kind, files)
    key = f"{act.card.id}:{act.card.version}"
    return create(kind, act.booking, act.by, key, act.given, counters=act.card, files=files)


def _check(
    card: Card, leg: Leg | None, chosen: Transition, user: User | None, version: int
) -> None:
    if not holds(chosen.by, user, card):
        raise Refusal("ACTION_FORBIDDEN", "This is for somebody else to decide.")
    if card.state not in chosen.sources or not card.is_open:
        raise _too_late(card)
    if card.version != version:
        raise Refusal("ACTION_INVALID_STATE", "This has changed since you looked at it.")
    if user is not None and is_due(card):
        raise Refusal("CARD_EXPIRED")
    if leg is not None:
        status.check_status(leg, status.move(card.type, chosen.name))


def _too_late(card: Card) -> Refusal:
    """Whoever comes second is told what happened."""
    last = card.steps.last()
    made = TYPES[card.type].find(last.move) if last else None
    if last and made and made.by == DEADLINE:
        return Refusal("CARD_EXPIRED", last.says)
    happened = (
        get_step_text(last) if last and last.says else f"It is {card.state.replace('_', ' ')}."
    )
    return Refusal("ACTION_INVALID_STATE", f"Somebody was faster. {happened}")


def _moved_before(card: Card, step: CardStep, name: str) -> CardResult:
    if step.move != name:
        raise Refusal("CLIENT_ID_REUSED", "This was already answered in another way.")
    return CardResult(card, list_unprocessed_entries(card))


def _says(chosen: Transition, kind: CardType, act: TransitionContext) -> str:
    return chosen.says.format(
        name=act.by.display_name if act.by else "",
        what=kind.summary(act.card.payload),
        status=act.leg.status.replace("_", " ") if act.leg else "",
    )


# --- What nobody asks for


def is_due(card: Card) -> bool:
    return card.due_at is not None and card.stopped_at is None and card.due_at <= timezone.now()


def apply_due_transition(card_id: str) -> CardResult | None:
    """None if it is not due, or somebody was faster."""
    card = access_card(None, card_id)
    chosen = TYPES[card.type].deadline_transition
    if chosen is None or card.state not in chosen.sources or not is_due(card):
        return None
    try:
        with transaction.atomic():
            locked, _ = lock_card(card_id)
            if locked.version != card.version or not is_due(locked):
                return None
            return _move(None, card_id, chosen.name, card.version, f"clock-{card.version}", {})
    except Refusal:
        _postpone(card_id)
        return None


@transaction.atomic
def _postpone(card_id: str) -> None:
    """Something is in the way of the clock's move. Until it is tried again people can answer; the
    relay shows them the new deadline."""
    card, _ = lock_card(card_id)
    if card.due_at is not None and is_due(card):
        card.due_at = round_up_to_minute(timezone.now() + CLOCK_RETRY)
        card.save(update_fields=["due_at"])
        refresh(card)


def _end_others(card: Card, leg: Leg, act: TransitionContext) -> list[OutboxEntry]:
    """What is open about a booking that is over waits for nobody any more. What waits for staff
    goes on."""
    entries = []
    others = Card.objects.filter(leg=leg, is_open=True).exclude(pk=card.pk).order_by("id")
    for other in others.select_related("buyer", "seller", "proposed_by"):
        if other.type not in TYPES:
            # Only a newer version knows how such a card ends.
            raise Refusal("TRY_AGAIN")
        chosen = TYPES[other.type].system_transition(other.state)
        if chosen is not None:
            ending = TransitionContext(other, leg, None, None, act.at, chosen.to)
            entries += _make(chosen, ending, f"{card.id}:{card.version}")
    return entries
