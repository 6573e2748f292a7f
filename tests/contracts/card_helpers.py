"""Card helpers: a valid proposal of each type, and the transitions that lead to each state."""

import io
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

from django.db import transaction
from django.db.models import QuerySet
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
from contracts.terms import Terms
from core.outbox.processing import process_now
from files.actions import accept_file
from projects.actions.cards import decide_card, propose_card, transition_card
from tests.contracts.conftest import sign
from tests.files.conftest import picture
from tests.threads.conftest import make_person

DECISION = "We have spoken with both."


def local(moment: datetime, zone: str) -> str:
    return f"{moment.astimezone(ZoneInfo(zone)):%Y-%m-%dT%H:%M}"


def new_time(leg: Leg, *, days: int = 1) -> dict[str, Any]:
    later = timedelta(days=days)
    return {
        "starts_at": local(leg.starts_at + later, leg.time_zone),
        "ends_at": local(leg.ends_at + later, leg.time_zone),
        "reason": "The light is better then.",
    }


def in_three_days(leg: Leg) -> str:
    return local(timezone.now() + timedelta(days=3), leg.time_zone)


def first_proof_id(leg: Leg) -> str:
    """Returns the id of the first file of the newest proofs card."""
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


def changed_terms(leg: Leg, **changes: Any) -> dict[str, Any]:
    """The input of an offer that changes the booking."""
    terms = Terms(**{name: getattr(leg, name) for name in Terms.__dataclass_fields__})
    moved = replace(terms, **({"place": "Porto"} | changes))
    return {"title": "Elsewhere", "currency": leg.currency, "terms": [moved.to_json()]}


GIVEN: dict[str, Any] = {
    "offer": changed_terms,
    "reschedule": new_time,
    "extras": some_extras,
    "overtime": lambda leg: {"minutes": "90", "note": "The last looks took longer."},
    "proofs": lambda leg: {"until": in_three_days(leg), "most": "1", "note": "The first looks."},
    "expense": lambda leg: {"amount": "18.40", "merchant": "Taxi", "date": "2026-05-01"},
    "sign": lambda leg: {},
    "complete": lambda leg: {"how": "time", "note": "All delivered."},
    "cancel": lambda leg: {"reason": "The collection is late."},
    "dispute": lambda leg: {"matter": "not_as_agreed", "details": "Half of it is missing."},
    "safety": lambda leg: {"matter": "harassment", "severity": "soon", "notes": "He shouts."},
}
# Input of the transitions that take any, by card type and transition name.
TRANSITION_INPUTS: dict[tuple[str, str], Any] = {
    ("offer", "counter"): lambda leg: changed_terms(leg, price_cents=leg.price_cents + 5_000),
    ("reschedule", "counter"): lambda leg: new_time(leg, days=5),
    ("extras", "counter"): some_extras,
    ("proofs", "approve"): lambda leg: {"chosen": first_proof_id(leg)},
    ("proofs", "request_changes"): lambda leg: {
        "notes": [{"id": first_proof_id(leg), "note": "Less contrast, please."}]
    },
    ("proofs", "answer"): lambda leg: GIVEN["proofs"](leg),
    ("sign", "sign"): lambda leg: {"legal_name": "A Legal Name", "has_read": "true"},
    ("complete", "dispute"): lambda leg: GIVEN["dispute"](leg),
}


def later_cards() -> QuerySet[Card]:
    """All cards except the accepted offers that made the bookings."""
    return Card.objects.exclude(type="offer", state="accepted")


def proposer_of(type_name: str, leg: Leg) -> User:
    return leg.buyer if TYPES[type_name].by == BUYER else leg.seller


def make_completable(leg: Leg) -> None:
    """Signs the contract by both parties and moves the booking to a free time in the past."""
    leg.refresh_from_db()
    version = leg.contract.versions.exclude(status="void").get()
    for user in (leg.buyer, leg.seller):
        sign(user, leg, version.number)
    if leg.ends_at > timezone.now():
        past_count = Leg.objects.filter(seller=leg.seller_id, ends_at__lt=timezone.now()).count()
        offset = timedelta(days=730 + 30 * past_count)
        times = {"starts_at": leg.starts_at - offset, "ends_at": leg.ends_at - offset}
        Leg.objects.filter(pk=leg.pk).update(**times)
        leg.refresh_from_db()
        # Records the change, because tabs show the times even if the next proposal is refused.
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
    """Uploads as many files as a card of this type needs and returns their ids."""
    kind = TYPES[type_name]
    name, content = ("look.jpg", picture()) if kind.file_kind else ("slip.txt", b"A slip")
    return [
        accept_file(by, thread_id=leg.thread_id, name=name, content=io.BytesIO(content)).id
        for _ in range(kind.files[0])
    ]


def answer(by: User, card: Card, transition: str, **more: Any) -> Card:
    fields = {"version": card.version, "key": f"{transition}-{card.version}"} | more
    return transition_card(by, card_id=card.id, transition=transition, **fields)


def users_with_role(role: str, card: Card) -> list[User]:
    """Lists the users a role stands for, independently of the product code."""
    other = card.seller if card.proposed_by == card.buyer else card.buyer
    return {
        BUYER: [card.buyer],
        SELLER: [card.seller],
        EITHER: [card.buyer, card.seller],
        PROPOSER: [card.proposed_by],
        ANSWERER: [other],
        AWAITED: [each for each in (card.buyer, card.seller) if each.id in card.waits_for],
    }.get(role, [])


def transition_input(card: Card, transition: Transition) -> dict[str, Any]:
    make_transition = TRANSITION_INPUTS.get((card.type, transition.name))
    return make_transition(card.leg) if make_transition else {}


def transition_files(card: Card, transition: Transition, by: User) -> list[str]:
    return files_for(transition.next_type, card.leg, by) if transition.next_type else []


def make_card_due(card: Card) -> None:
    Card.objects.filter(pk=card.pk).update(due_at=datetime(2020, 1, 1, tzinfo=UTC))


def apply_deadline(card: Card) -> None:
    make_card_due(card)
    done = apply_due_transition(card.id)
    assert done is not None
    process_now(done.entries)
    card.refresh_from_db()


def end_booking(card: Card) -> None:
    """Ends the booking by accepting a cancellation card."""
    leg = Leg.objects.get(pk=card.leg_id)
    last = propose("cancel", leg)
    answer(users_with_role(ANSWERER, last)[0], last, "accept")
    card.refresh_from_db()


def make_staff() -> User:
    staff = make_person("Mo")
    staff.is_staff = True
    staff.save()
    return staff


def decide_as_staff(card: Card) -> User:
    staff = make_staff()
    decide_card(staff, thread_id=card.thread_id, card_id=card.id, reason=DECISION)
    card.refresh_from_db()
    return staff


def make_transition(card: Card, transition: Transition, by: User | None = None) -> None:
    """Makes the transition as a user whom the transition table allows it."""
    if transition.by == DEADLINE:
        return apply_deadline(card)
    if transition.by == STAFF:
        decide_as_staff(card)
        return None
    if transition.by == SYSTEM:
        return end_booking(card)
    by = by or users_with_role(transition.by, card)[0]
    answer(
        by,
        card,
        transition.name,
        given=transition_input(card, transition),
        file_ids=transition_files(card, transition, by),
    )
    card.refresh_from_db()


def make_card_in_state(state: str, leg: Leg, type_name: str) -> Card | None:
    """Makes a card and takes the shortest path of transitions to the state; None if there is
    none."""
    kind = TYPES[type_name]
    paths: list[tuple[str, list[Transition]]] = [(kind.first, [])]
    seen = {kind.first}
    while paths:
        reached, path = paths.pop(0)
        if reached == state:
            card = propose(type_name, leg)
            for transition in path:
                make_transition(card, transition)
                # A transition that several users have to make is made by each of them.
                while card.state != transition.to:
                    make_transition(card, transition)
            return card
        for transition in kind.transitions:
            if reached in transition.sources and transition.to not in seen:
                seen.add(transition.to)
                paths.append((transition.to, [*path, transition]))
    return None
