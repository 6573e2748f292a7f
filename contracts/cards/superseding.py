"""Finds the cards of offers that are closed when another one is accepted.

Open offers for new bookings between the same two users in one thread are alternatives: accepting
one closes the others. Changing a booking closes its other open changes.
"""

from django.db.models import QuerySet

from contracts.models import Leg, Offer
from contracts.models.cards import Card

OFFER, SUPERSEDE = "offer", "supersede"


def list_alternatives(offer: Offer) -> list[Card]:
    """Open offers for new bookings that are closed when this one is accepted."""
    found = _open_offers().filter(
        thread_id=offer.thread_id, buyer=offer.buyer_id, seller=offer.seller_id, leg__isnull=True
    )
    return list(found.exclude(offer=offer))


def list_open_changes(leg: Leg, *, card: Card) -> list[Card]:
    """Other open changes of a booking that `card` changes."""
    return list(_open_offers().filter(leg=leg).exclude(pk=card.pk))


def _open_offers() -> QuerySet[Card]:
    """The caller has locked the open cards of the thread."""
    found = Card.objects.filter(type=OFFER, is_open=True).order_by("id")
    return found.select_related("buyer", "seller", "proposed_by", "offer")
