"""Cards to try things with: a proposal of each type, and the moves that lead to each state."""

import io
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from contracts.actions.revisions import record_leg_change
from contracts.cards.card_type import (
    ANSWERER,
    AWAITED,
    BUYER,
    DEADLINE,
    EITHER,
    PROPOSER,
    SELLER,
    STAFF,
    SYSTEM,
    Transition,
)
from contracts.cards.transitions import apply_due_transition
from contracts.cards.types import TYPES
from contracts.models import Card, Leg
from contracts.models.bookings import BOOKED
from contracts.queries import is_in_force
from core.outbox.processing import process_now
from files.actions import accept_file
from projects.actions.cards import decide_card, propose_card, transition_card
from tests.contracts.conftest import sign
from tests.files.conftest import picture
from tests.threads.conftest import make_person

DECIDED = "We have spoken with both."


def local(moment: datetime, zone: str) -> str:
    return f"{moment.astimezone(ZoneInfo(zone)):%Y-%m-%dT%H:%M}"


def new_time(leg: Leg, *, days: int = 1) -> dict[str, Any]:
    later = timedelta(days=days)
    return {
        "starts_at": local(leg.starts_at + later, leg.time_zone),
        "ends_at": local(leg.ends_at + later, leg.time_zone),
        "reason": "The light is better then.",
    }


def soon(leg: Leg) -> str:
    return local(timezone.now() + timedelta(days=3), leg.time_zone)


def picture_of(leg: Leg) -> str:
    """The first of the newest proofs."""
    newest = Card.objects.filter(leg=leg, type="proofs").order_by("created_at", "id").last()
    return newest.payload["files"][0]["id"] if newest else ""


def some_extras(leg: Leg) -> dict[str, Any]:
    return {
        "items": [
            {"title": "Retouching", "quantity": "3", "unit": "25.50"},
            {"title": "A second backdrop", "quantity": "1", "unit": "40"},
        ],
        "note": "As we said on Monday.",
    }


GIVEN: dict[str, Any] = {
    "reschedule": new_time,
    "extras": some_extras,
    "overtime": lambda leg: {"minutes": "90", "note": "The last looks took longer."},
    "proofs": lambda leg: {"until": soon(leg), "most": "1", "note": "The first looks."},
    "expense": lambda leg: {"amount": "18.40", "merchant": "Taxi", "date": "2026-05-01"},
    "sign": lambda leg: {},
    "complete": lambda leg: {"how": "time", "note": "All delivered."},
    "cancel": lambda leg: {"reason": "The collection is late."},
    "dispute": lambda leg: {"matter": "not_as_agreed", "details": "Half of it is missing."},
    "safety": lambda leg: {"matter": "harassment", "severity": "soon", "notes": "He shouts."},
}
# What a move takes, where it takes something.
GIVEN_WITH: dict[tuple[str, str], Any] = {
    ("reschedule", "counter"): lambda leg: new_time(leg, days=5),
    ("extras", "counter"): some_extras,
    ("proofs", "approve"): lambda leg: {"chosen": picture_of(leg)},
    ("proofs", "request_changes"): lambda leg: {
        "notes": [{"id": picture_of(leg), "note": "Less contrast, please."}]
    },
    ("proofs", "answer"): lambda leg: GIVEN["proofs"](leg),
    ("sign", "sign"): lambda leg: {"legal_name": "A Legal Name", "has_read": "true"},
    ("complete", "dispute"): lambda leg: GIVEN["dispute"](leg),
}


def proposer_of(type_name: str, leg: Leg) -> User:
    return leg.buyer if TYPES[type_name].by == BUYER else leg.seller


def make_completable(leg: Leg) -> None:
    """Signed by both, and over: before every other booking of the seller that is over."""
    leg.refresh_from_db()
    version = leg.contract.versions.exclude(status="void").get()
    for user in (leg.buyer, leg.seller):
        sign(user, leg, version.number)
    if leg.ends_at > timezone.now():
        over = Leg.objects.filter(seller=leg.seller_id, ends_at__lt=timezone.now()).count()
        earlier = timedelta(days=730 + 30 * over)
        times = {"starts_at": leg.starts_at - earlier, "ends_at": leg.ends_at - earlier}
        Leg.objects.filter(pk=leg.pk).update(**times)
        leg.refresh_from_db()
        # Tabs show the times, also where what is proposed next is refused.
        with transaction.atomic():
            entries = record_leg_change(leg, by=leg.seller, key=f"{leg.id}:over", text="")
        process_now(entries)


def is_completable(leg: Leg) -> bool:
    return leg.ends_at <= timezone.now() and is_in_force(leg)


def propose(type_name: str, leg: Leg, by: User | None = None, **more: Any) -> Card:
    by = by or proposer_of(type_name, leg)
    if type_name == "complete" and leg.status == BOOKED and not is_completable(leg):
        make_completable(leg)
    fields = {"key": str(uuid4()), "given": GIVEN[type_name](leg)} | more
    if "file_ids" not in fields:
        fields["file_ids"] = files_for(type_name, leg, by)
    return propose_card(
        by,
        thread_id=leg.thread_id,
        type_name=type_name,
        leg_id=leg.id,
        **fields,
    )


def files_for(type_name: str, leg: Leg, by: User) -> list[str]:
    """As many as a card of this type needs, freshly brought."""
    kind = TYPES[type_name]
    name, content = ("look.jpg", picture()) if kind.file_kind else ("slip.txt", b"A slip")
    return [
        accept_file(by, thread_id=leg.thread_id, name=name, content=io.BytesIO(content)).id
        for _ in range(kind.files[0])
    ]


def answer(by: User, card: Card, move: str, **more: Any) -> Card:
    fields = {"version": card.version, "key": f"{move}-{card.version}"} | more
    return transition_card(by, card_id=card.id, transition=move, **fields)


def rightful(role: str, card: Card) -> list[User]:
    """Whom the table means by a role, spelled out once more."""
    other = card.seller if card.proposed_by == card.buyer else card.buyer
    return {
        BUYER: [card.buyer],
        SELLER: [card.seller],
        EITHER: [card.buyer, card.seller],
        PROPOSER: [card.proposed_by],
        ANSWERER: [other],
        AWAITED: [each for each in (card.buyer, card.seller) if each.id in card.waits_for],
    }.get(role, [])


def given_with(card: Card, move: Transition) -> dict[str, Any]:
    make = GIVEN_WITH.get((card.type, move.name))
    return make(card.leg) if make else {}


def files_with(card: Card, move: Transition, by: User) -> list[str]:
    return files_for(move.next_type, card.leg, by) if move.next_type else []


def let_be_due(card: Card) -> None:
    Card.objects.filter(pk=card.pk).update(due_at=datetime(2020, 1, 1, tzinfo=UTC))


def let_the_clock_move(card: Card) -> None:
    let_be_due(card)
    done = apply_due_transition(card.id)
    assert done is not None
    process_now(done.entries)
    card.refresh_from_db()


def let_the_booking_end(card: Card) -> None:
    """By another card about it."""
    leg = Leg.objects.get(pk=card.leg_id)
    last = propose("cancel", leg)
    answer(rightful(ANSWERER, last)[0], last, "accept")
    card.refresh_from_db()


def make_staff() -> User:
    staff = make_person("Mo")
    staff.is_staff = True
    staff.save()
    return staff


def let_staff_decide(card: Card) -> User:
    staff = make_staff()
    decide_card(staff, thread_id=card.thread_id, card_id=card.id, reason=DECIDED)
    card.refresh_from_db()
    return staff


def make(card: Card, move: Transition, by: User | None = None) -> None:
    """As somebody whom the table allows it."""
    if move.by == DEADLINE:
        return let_the_clock_move(card)
    if move.by == STAFF:
        let_staff_decide(card)
        return None
    if move.by == SYSTEM:
        return let_the_booking_end(card)
    by = by or rightful(move.by, card)[0]
    answer(by, card, move.name, given=given_with(card, move), file_ids=files_with(card, move, by))
    card.refresh_from_db()


def bring_to(state: str, leg: Leg, type_name: str) -> Card | None:
    """A card in that state, by the shortest way that leads there; None if none does."""
    kind = TYPES[type_name]
    ways: list[tuple[str, list[Transition]]] = [(kind.first, [])]
    seen = {kind.first}
    while ways:
        at, way = ways.pop(0)
        if at == state:
            card = propose(type_name, leg)
            for move in way:
                make(card, move)
                # Of those that several have to make, each makes it.
                while card.state != move.to:
                    make(card, move)
            return card
        for move in kind.transitions:
            if at in move.sources and move.to not in seen:
                seen.add(move.to)
                ways.append((move.to, [*way, move]))
    return None
