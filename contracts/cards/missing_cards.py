"""Adds the cards of pending offers that were stored before offers had cards."""

from django.db import transaction
from django.utils import timezone

from contracts.actions.offers import default_valid_until
from contracts.cards.payloads import content_hash
from contracts.cards.proposals import store_card
from contracts.cards.superseding import OFFER
from contracts.cards.types import TYPES
from contracts.cards.types.offer import OfferInput, make_payload
from contracts.models import Offer
from contracts.models.bookings import PENDING
from contracts.models.cards import Card
from contracts.schedule import lock_seller
from contracts.terms import Terms
from core.outbox.models import OutboxEntry


@transaction.atomic
def add_missing_card(offer_id: str) -> list[OutboxEntry]:
    """Does nothing if the offer has a card or was answered."""
    offers = Offer.objects.select_related("buyer", "seller", "proposed_by", "changes")
    lock_seller(offers.get(pk=offer_id).seller_id)
    offer = offers.get(pk=offer_id)
    if offer.status != PENDING or Card.objects.filter(offer=offer).exists():
        return []
    given = OfferInput(title=offer.title, currency=offer.currency, terms=offer.terms)
    until = default_valid_until([Terms.from_json(each) for each in offer.terms], timezone.now())
    card = Card(
        type=OFFER,
        thread_id=offer.thread_id,
        leg=offer.changes,
        offer=offer,
        buyer=offer.buyer,
        seller=offer.seller,
        proposed_by=offer.proposed_by,
        key=offer.id,
        seal=content_hash(given),
        payload=make_payload(given, until, offer.changes),
    )
    return store_card(TYPES[OFFER], card, given).entries
