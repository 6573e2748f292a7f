"""An offer of new bookings, or of new terms for an existing one, as a card in the conversation.

The `Offer` row is the immutable record of the terms, to which bookings refer. The card is what the
users see and answer; a counter-offer closes it and opens the next card of the negotiation.
"""

from datetime import datetime

from django.utils import timezone
from pydantic import BaseModel, ConfigDict, Field

from accounts.models import User
from contracts.actions.offers import (
    book_offer,
    change_leg,
    check_terms,
    default_valid_until,
    find_validity_error,
)
from contracts.cards.card_type import (
    ANSWERER,
    DEADLINE,
    EITHER,
    PENDING,
    SYSTEM,
    CardType,
    Payload,
    Transition,
    TransitionContext,
    withdraw,
)
from contracts.cards.superseding import OFFER, SUPERSEDE, list_alternatives, list_open_changes
from contracts.fields import Note
from contracts.models import Card, Leg, Offer
from contracts.models.bookings import ACCEPTED, COUNTERED, DECLINED, EXPIRED, SUPERSEDED
from contracts.money import format_amount
from contracts.offer_view import compare_terms, show_offer, total_of
from contracts.schedule import list_busy_warnings
from contracts.terms import MAX_LEGS, Terms
from core.refusals import Refusal

MAX_TITLE_CHARS = 120
# Earlier offers of a negotiation that its newest card lists.
MAX_EARLIER = 8


class TermsInput(BaseModel):
    """The terms of a leg as stored (contracts/terms.py), which also checks them."""

    model_config = ConfigDict(extra="allow")

    service: str = Field(max_length=120)
    place: str = Field(max_length=200)
    starts_at: str = Field(max_length=40)
    ends_at: str = Field(max_length=40)
    time_zone: str = Field(max_length=64)
    price_cents: int
    deposit_cents: int
    cancellation: str = Field(max_length=10)


class OfferInput(BaseModel):
    title: str = Field(max_length=MAX_TITLE_CHARS)
    currency: str = Field(max_length=3)
    terms: list[TermsInput] = Field(max_length=MAX_LEGS)
    valid_until: datetime | None = None


class DeclineInput(BaseModel):
    reason: Note = ""


def build_payload(leg: Leg | None, given: OfferInput, by: User) -> Payload:
    terms = [Terms.from_json(each.model_dump()) for each in given.terms]
    check_terms(given.title, given.currency, terms, leg)
    until = given.valid_until or default_valid_until(terms, timezone.now())
    if given.valid_until and (wrong := find_validity_error(until, terms)):
        raise Refusal("OFFER_INVALID", f"The offer can't be valid until then. {wrong}")
    return make_payload(given, until, leg)


def make_payload(given: OfferInput, until: datetime, leg: Leg | None) -> Payload:
    return {
        "title": given.title.strip(),
        "currency": given.currency,
        "terms": [each.model_dump() for each in given.terms],
        "validUntil": until.isoformat(),
        "changes": leg.id if leg else "",
    }


def _store_offer(context: TransitionContext) -> None:
    """Stores the record of the terms, and what the card shows of the negotiation before it."""
    card, payload = context.card, context.card.payload
    card.offer = card.offer or Offer.objects.create(
        thread_id=card.thread_id,
        key=card.id,
        proposed_by=card.proposed_by,
        buyer=card.buyer,
        seller=card.seller,
        title=payload["title"],
        currency=payload["currency"],
        terms=payload["terms"],
        valid_until=card.due_at,
        changes=context.leg,
    )
    card.payload = payload | {"offer": card.offer.id} | describe_negotiation(context)
    card.save(update_fields=["offer", "payload"])


def describe_negotiation(context: TransitionContext) -> Payload:
    """What changed compared with the offer before, or with the booking, and the earlier offers."""
    before, payload = context.card.counters, context.card.payload
    if before is None:
        current = _terms_of_booking(context.leg) if context.leg else None
        return {"old": compare_terms(current, payload) if current else None, "earlier": []}
    earlier = {
        "card": before.id,
        "by": before.proposed_by_id,
        "price": total_of(before.payload),
        "currency": before.payload["currency"],
        "at": before.created_at.isoformat(),
    }
    listed = [*before.payload.get("earlier", []), earlier]
    return {"old": compare_terms(before.payload, payload), "earlier": listed[-MAX_EARLIER:]}


def _terms_of_booking(leg: Leg) -> Payload:
    terms = Terms(**{name: getattr(leg, name) for name in Terms.__dataclass_fields__})
    return {"title": leg.offer.title, "currency": leg.currency, "terms": [terms.to_json()]}


def _accept(context: TransitionContext) -> None:
    card, by = context.card, context.by
    assert card.offer is not None
    assert by is not None
    if context.leg is None:
        legs = book_offer(card.offer, by=by)
        card.payload = card.payload | {"legs": [leg.id for leg in legs]}
        context.superseded += list_alternatives(card.offer)
    else:
        context.superseded += list_open_changes(context.leg, card=card)
        terms = Terms.from_json(card.offer.terms[0])
        context.entries += change_leg(context.leg, terms, by=by, key=context.key)


def _decline(context: TransitionContext) -> None:
    if context.given.reason:
        context.card.payload = context.card.payload | {"reason": context.given.reason}


def list_accept_warnings(card: Card, by: User) -> list[str]:
    all_times = [Terms.from_json(each).times for each in card.payload["terms"]]
    return list_busy_warnings(card.seller, all_times, viewer=by)


def due(leg: Leg | None, payload: Payload, now: datetime) -> datetime:
    return datetime.fromisoformat(payload["validUntil"])


def summary(payload: Payload) -> str:
    return f"{payload['title']}, {format_amount(total_of(payload), payload['currency'])}"


def label_for(payload: Payload) -> str:
    return "Suggested change" if payload.get("changes") else "Offer"


TYPE = CardType(
    name=OFFER,
    label="Offer",
    icon="file-plus",
    by=EITHER,
    proposal=OfferInput,
    build_payload=build_payload,
    summary=summary,
    show=show_offer,
    effect=_store_offer,
    due=due,
    due_label="valid until",
    warning="The offer expires in a day: {what}.",
    propose_label="Make an offer",
    description="Suggest what, when, where and the price",
    label_for=label_for,
    transitions=(
        Transition(
            "accept",
            ANSWERER,
            (PENDING,),
            ACCEPTED,
            "{name} accepted the offer: {what}.",
            label="Accept",
            tone="primary",
            effect=_accept,
            warnings=list_accept_warnings,
            confirmation="By accepting, you agree to everything above. The contract is created "
            "from it, and you both sign it.",
        ),
        Transition(
            "decline",
            ANSWERER,
            (PENDING,),
            DECLINED,
            "{name} declined the offer: {what}.",
            label="Decline",
            input_model=DeclineInput,
            effect=_decline,
        ),
        # Also by the author, who can correct an offer that was not answered yet.
        Transition(
            "counter",
            EITHER,
            (PENDING,),
            COUNTERED,
            "{name} suggested a change.",
            label="Suggest a change",
            input_model=OfferInput,
            next_type=OFFER,
            is_announced=False,
        ),
        withdraw("{name} withdrew the offer: {what}."),
        Transition("expire", DEADLINE, (PENDING,), EXPIRED, "The offer expired: {what}."),
        Transition(
            "end",
            SYSTEM,
            (PENDING,),
            SUPERSEDED,
            "The booking is {status}, so this no longer needs a reply: {what}.",
        ),
        Transition(
            SUPERSEDE,
            SYSTEM,
            (PENDING,),
            SUPERSEDED,
            "{name} accepted another offer, so this one is closed.",
            is_announced=False,
        ),
    ),
)
