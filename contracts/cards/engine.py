"""The rules of every card: who proposes, who moves it from where to where, once.

All of a move is one SQL transaction: the card, the step that is kept of it, what it changes of the
booking, and the outbox entry by which the conversation follows. Whoever comes second waits for the
first, and then reads what has become of the card.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone
from pydantic import BaseModel, ValidationError

from accounts.models import OutboxEntry, User
from accounts.refusals import Refusal
from contracts.actions.dossiers import touch
from contracts.cards.clock import is_stopped
from contracts.cards.fields import invalid
from contracts.cards.table import Act, CardType, Move, holds, people_of
from contracts.cards.types import TYPES
from contracts.models import Leg
from contracts.models.bookings import CANCELLED, COMPLETED
from contracts.models.cards import Card, CardStep

PROPOSED = "propose"
OVER = (COMPLETED, CANCELLED)


@dataclass
class Done:
    card: Card
    entries: list[OutboxEntry] = field(default_factory=list)


# --- Proposing


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
) -> Done:
    """`files` as they are shown; `also` is what whoever keeps them does in this transaction."""
    kind = find_type(type_name)
    leg = _lock_leg(leg_id)
    if leg is None or leg.thread_id != thread_id or user.id not in leg.parties:
        raise Refusal("THREAD_NOT_FOUND", "There is no such booking.")
    proposal = read(kind.proposal, given)
    before = Card.objects.filter(proposed_by=user, key=key).first()
    if before is not None:
        return _proposed_before(before, kind, _seal(proposal))
    check_may_propose(kind, user, leg)
    _check_files(kind, files)
    done = _create(kind, leg, user, key, proposal, files=files)
    if also:
        also(done.card)
    return done


def _check_files(kind: CardType, files: Sequence[dict[str, Any]]) -> None:
    least, most = kind.files
    if not least <= len(files) <= most:
        wanted = f"{least} to {most} files" if most > 1 else "A file"
        raise invalid("files", f"{wanted} belong to it.")
    if kind.file_kind and any(file["kind"] != kind.file_kind for file in files):
        raise invalid("files", "Only pictures belong to it.")


def find_type(name: str) -> CardType:
    kind = TYPES.get(name)
    if kind is None:
        raise Refusal("THREAD_NOT_FOUND", "There is no such card.")
    return kind


def check_may_propose(kind: CardType, user: User, leg: Leg) -> None:
    draft = Card(buyer=leg.buyer, seller=leg.seller, proposed_by=user)
    if not holds(kind.by, user, draft):
        raise Refusal("ACTION_FORBIDDEN", f"This is for the {kind.by} to propose.")
    if leg.status not in kind.leg_states:
        said = leg.status.replace("_", " ")
        raise Refusal("ACTION_INVALID_STATE", f"This booking is {said}.")
    if kind.is_alone and Card.objects.filter(leg=leg, type=kind.name, is_open=True).exists():
        raise Refusal(
            "ACTION_INVALID_STATE",
            "There is one of these already that is not answered.",
            hint="Answer it or take it back first.",
        )


def read(model: type[BaseModel], given: dict[str, Any]) -> Any:
    """What was typed, checked; or a refusal that says what is wrong with which part."""
    try:
        return model.model_validate(given)
    except ValidationError as error:
        errors = {
            ".".join(str(part) for part in one["loc"]): _sentence(one) for one in error.errors()
        }
        # What is wrong with the whole is no part's.
        refusal = Refusal("CARD_INVALID", errors.get("", ""))
        refusal.details["errors"] = errors
        raise refusal from error


def _sentence(error: Any) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if kind == "value_error":
        return str(context["error"])
    if kind in ("missing", "string_too_short", "too_short"):
        return "This is missing."
    if kind in ("string_too_long", "too_long"):
        return f"At most {context.get('max_length'):,} fit here."
    if kind.startswith("datetime"):
        return "That is not a date and a time."
    return "That cannot be right."


def _seal(proposal: BaseModel) -> str:
    said = json.dumps(proposal.model_dump(mode="json"), sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()


def _proposed_before(card: Card, kind: CardType, seal: str) -> Done:
    if (card.type, card.seal) != (kind.name, seal):
        raise Refusal("CLIENT_ID_REUSED", "This was already proposed with other terms.")
    return Done(card, _waiting(card))


def _create(
    kind: CardType,
    leg: Leg,
    user: User,
    key: str,
    proposal: BaseModel,
    counters: Card | None = None,
    files: Sequence[dict[str, Any]] = (),
) -> Done:
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
        seal=_seal(proposal),
        payload=payload,
        state=kind.first,
        counters=counters,
        created_at=now,
        due_at=_to_the_minute(kind.due(leg, payload, now)) if kind.due else None,
    )
    if card.due_at and is_stopped(card.thread_id):
        card.stopped_at = now
    if kind.waiting:
        card.waits_for = kind.waiting(leg, payload)
    else:
        card.waits_for = people_of(kind.waits[kind.first], card)
    card.save(force_insert=True)
    act = Act(card, leg, user, proposal, now, card.state)
    _keep(card, "", PROPOSED, act, key, "")
    # The card is in the conversation before what comes of it: a hold would keep it out.
    entries = [_tell(card, user, "")]
    if kind.effect:
        kind.effect(act)
    return Done(card, entries + act.entries)


def _to_the_minute(moment: datetime) -> datetime:
    """As it is shown: nothing is due at 23 seconds past."""
    whole = moment.replace(second=0, microsecond=0)
    return whole if whole == moment else whole + timedelta(minutes=1)


# --- Moving


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
) -> Done:
    """Once: whoever repeats it with the same key gets the same answer. `files` and `also` are for
    the card that comes of it, as when one is proposed."""
    card = find_card(user, card_id)
    if user is not None and is_due(card):
        # The clock was first, whether or not anybody was there to see it.
        make_clock_move(card.id)
    return _move(user, card_id, name, version, key, given or {}, files, also)


def decide(staff: User, *, card_id: str, name: str, key: str, given: dict[str, Any]) -> Done:
    """By staff, who are no party to it. That they have a case, and the record of it, is for whoever
    calls this to see to."""
    card = find_card(None, card_id)
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
) -> Done:
    card, leg = _lock(card_id)
    kind = TYPES[card.type]
    chosen = kind.find(name)
    if chosen is None:
        raise Refusal("THREAD_NOT_FOUND", "A card of this type has no such move.")
    before = CardStep.objects.filter(card=card, by=user, key=key).first()
    if before is not None:
        return _moved_before(card, before, name)
    _check(card, leg, chosen, user, version)
    act = Act(
        card,
        leg,
        user,
        read(chosen.needs, given) if chosen.needs else None,
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
    return Done(card, entries)


def _make(chosen: Move, act: Act, key: str) -> list[OutboxEntry]:
    card, kind = act.card, TYPES[act.card.type]
    if chosen.effect:
        chosen.effect(act)
    came_from = card.state
    _store(card, kind, act, chosen)
    says = _says(chosen, kind, act) + act.adds
    _keep(card, came_from, chosen.name, act, key, says)
    return [_tell(card, act.by, says), *act.entries]


def _end_others(card: Card, leg: Leg, act: Act) -> list[OutboxEntry]:
    """What is open about a booking that is over waits for nobody any more. What waits for staff
    goes on."""
    entries = []
    others = Card.objects.filter(leg=leg, is_open=True).exclude(pk=card.pk).order_by("id")
    for other in others.select_related("buyer", "seller", "proposed_by"):
        chosen = TYPES[other.type].service_move(other.state)
        if chosen is not None:
            ending = Act(other, leg, None, None, act.at, chosen.to)
            entries += _make(chosen, ending, f"{card.id}:{card.version}")
    return entries


def _store(card: Card, kind: CardType, act: Act, chosen: Move) -> None:
    card.state, card.version = act.to, card.version + 1
    card.is_open = kind.is_open(act.to) and not chosen.ends
    if act.waits_for is None:
        act.waits_for = people_of(kind.waits[act.to], card) if card.is_open else []
    card.waits_for = act.waits_for
    clock = kind.clock_move
    if not card.is_open or clock is None or card.state not in clock.sources:
        card.due_at = card.stopped_at = None
    card.save()


def _follow(kind: CardType, act: Act, files: Sequence[dict[str, Any]]) -> Done:
    """The next card of the chain, under a name that this version of this card gives to no other."""
    assert act.by is not None
    _check_files(kind, files)
    key = f"{act.card.id}:{act.card.version}"
    return _create(kind, act.booking, act.by, key, act.given, counters=act.card, files=files)


def _check(card: Card, leg: Leg | None, chosen: Move, user: User | None, version: int) -> None:
    if not holds(chosen.by, user, card):
        raise Refusal("ACTION_FORBIDDEN", "This is for somebody else to decide.")
    if card.state not in chosen.sources or not card.is_open:
        raise _too_late(card)
    if card.version != version:
        raise Refusal("ACTION_INVALID_STATE", "This has changed since you looked at it.")
    if user is not None and is_due(card):
        raise Refusal("CARD_EXPIRED")
    states = chosen.when or TYPES[card.type].leg_states
    if (chosen.effect or chosen.then) and leg and leg.status not in states:
        raise Refusal("ACTION_INVALID_STATE", f"This booking is {leg.status.replace('_', ' ')}.")


def _too_late(card: Card) -> Refusal:
    """Whoever comes second is told what happened."""
    last = card.steps.select_related("by").last()
    if last is not None and last.by is None:
        return Refusal("CARD_EXPIRED", last.says)
    happened = last.says if last and last.says else f"It is {card.state.replace('_', ' ')}."
    return Refusal("ACTION_INVALID_STATE", f"Somebody was faster. {happened}")


def _moved_before(card: Card, step: CardStep, name: str) -> Done:
    if step.move != name:
        raise Refusal("CLIENT_ID_REUSED", "This was already answered in another way.")
    return Done(card, _waiting(card))


def find_card(user: User | None, card_id: str) -> Card:
    card = Card.objects.filter(pk=card_id).first()
    if card is None or (user is not None and user.id not in card.parties):
        raise Refusal("THREAD_NOT_FOUND", "There is no such card.")
    return card


# --- The clock's own moves


def is_due(card: Card) -> bool:
    return card.due_at is not None and card.stopped_at is None and card.due_at <= timezone.now()


def make_clock_move(card_id: str) -> Done | None:
    """None if it is not due, or somebody was faster."""
    card = find_card(None, card_id)
    chosen = TYPES[card.type].clock_move
    if chosen is None or card.state not in chosen.sources or not is_due(card):
        return None
    try:
        with transaction.atomic():
            locked, _ = _lock(card_id)
            if locked.version != card.version or not is_due(locked):
                return None
            return _move(None, card_id, chosen.name, card.version, f"clock-{card.version}", {})
    except Refusal:
        return None


# --- What a move writes


def _lock_leg(leg_id: str | None) -> Leg | None:
    """The seller first, as payments do: then nobody else books, moves or bills what is theirs. Then
    the leg, then all that is open in its thread: one card stops or ends others."""
    seller_id = Leg.objects.filter(pk=leg_id).values_list("seller_id", flat=True).first()
    if seller_id is None:
        return None
    list(User.objects.select_for_update(no_key=True).filter(pk=seller_id))
    found = Leg.objects.select_for_update(of=("self",)).select_related("buyer", "seller")
    leg = found.get(pk=leg_id)
    cards = Card.objects.filter(thread_id=leg.thread_id, is_open=True).order_by("id")
    list(cards.select_for_update(of=("self",)).values_list("id"))
    return leg


def _lock(card_id: str) -> tuple[Card, Leg | None]:
    leg_id = Card.objects.values_list("leg_id", flat=True).get(pk=card_id)
    leg = _lock_leg(leg_id)
    found = Card.objects.select_for_update(of=("self",))
    return found.select_related("buyer", "seller", "proposed_by").get(pk=card_id), leg


def _says(chosen: Move, kind: CardType, act: Act) -> str:
    return chosen.says.format(
        name=act.by.display_name if act.by else "",
        what=kind.summary(act.card.payload),
        status=act.leg.status.replace("_", " ") if act.leg else "",
    )


def _why(given: Any) -> str:
    return str(getattr(given, "reason", "") or getattr(given, "note", ""))


def _keep(card: Card, came_from: str, name: str, act: Act, key: str, says: str) -> None:
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


def _tell(card: Card, by: User | None, says: str) -> OutboxEntry:
    return touch(
        card.thread_id,
        by=by if by and by.id in card.parties else card.proposed_by,
        key=f"{card.id}:{card.version}",
        says=says,
        card={"id": card.id, "version": card.version},
    )


def _waiting(card: Card) -> list[OutboxEntry]:
    """For a repeat: what the first attempt may have left undone."""
    waiting = OutboxEntry.objects.filter(kind="booking", done_at__isnull=True)
    return list(waiting.filter(payload__thread=card.thread_id).order_by("id"))
