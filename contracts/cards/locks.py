"""Access to cards, and row locks on cards and their bookings."""

from django.db.models import Q

from accounts.models import User
from contracts.cards.types import TYPES
from contracts.models import Leg, Offer
from contracts.models.bookings import PENDING
from contracts.models.cards import Card
from contracts.refusals import not_found
from contracts.schedule import lock_seller
from core.refusals import Refusal


def access_card(user: User | None, card_id: str) -> Card:
    card = Card.objects.filter(pk=card_id).first()
    if card is None or (user is not None and user.id not in card.parties):
        raise not_found("card")
    if card.type not in TYPES:
        # Stored by a newer version during a deployment.
        raise Refusal("TRY_AGAIN", "This can't be shown yet. Try again in a moment.")
    return card


def lock_leg(leg_id: str | None) -> Leg | None:
    """Lock order: the seller, like for payments, then the leg, then all open cards of the thread,
    because a transition of one card can change others."""
    seller_id = Leg.objects.filter(pk=leg_id).values_list("seller_id", flat=True).first()
    if seller_id is None:
        return None
    lock_seller(seller_id)
    found = Leg.objects.select_for_update(of=("self",)).select_related("buyer", "seller")
    leg = found.get(pk=leg_id)
    _lock_open_cards(leg.thread_id)
    return leg


def lock_card(card_id: str) -> tuple[Card, Leg | None]:
    fields = ("thread_id", "leg_id", "offer_id")
    thread_id, leg_id, offer_id = Card.objects.values_list(*fields).get(pk=card_id)
    if offer_id is not None:
        _lock_offers(offer_id)
    leg = lock_leg(leg_id)
    if leg is None:
        _lock_open_cards(thread_id)
    found = Card.objects.select_for_update(of=("self",))
    return found.select_related("buyer", "seller", "proposed_by", "offer").get(pk=card_id), leg


def _lock_offers(offer_id: str) -> None:
    """Lock order: the seller, the open offers of the thread by id, then the leg and the cards."""
    seller_id, thread_id = Offer.objects.values_list("seller_id", "thread_id").get(pk=offer_id)
    lock_seller(seller_id)
    offers = Offer.objects.filter(Q(thread_id=thread_id, status=PENDING) | Q(pk=offer_id))
    list(offers.select_for_update(of=("self",)).order_by("id").values_list("id"))


def _lock_open_cards(thread_id: str) -> None:
    cards = Card.objects.filter(thread_id=thread_id, is_open=True).order_by("id")
    list(cards.select_for_update(of=("self",)).values_list("id"))
