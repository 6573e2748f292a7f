"""Finding a card, and keeping everybody else from it until the transaction is over."""

from accounts.models import User
from contracts.cards.types import TYPES
from contracts.models import Leg
from contracts.models.cards import Card
from contracts.schedule import lock_seller
from core.refusals import Refusal


def access_card(user: User | None, card_id: str) -> Card:
    card = Card.objects.filter(pk=card_id).first()
    if card is None or (user is not None and user.id not in card.parties):
        raise Refusal("THREAD_NOT_FOUND", "There is no such card.")
    if card.type not in TYPES:
        # Stored by a newer version, while servers are being updated.
        raise Refusal("TRY_AGAIN", "This can't be shown yet.")
    return card


def lock_leg(leg_id: str | None) -> Leg | None:
    """The seller first, as payments do: then nobody else books, moves or bills what is theirs. Then
    the leg, then all that is open in its thread: one card stops or ends others."""
    seller_id = Leg.objects.filter(pk=leg_id).values_list("seller_id", flat=True).first()
    if seller_id is None:
        return None
    lock_seller(seller_id)
    found = Leg.objects.select_for_update(of=("self",)).select_related("buyer", "seller")
    leg = found.get(pk=leg_id)
    cards = Card.objects.filter(thread_id=leg.thread_id, is_open=True).order_by("id")
    list(cards.select_for_update(of=("self",)).values_list("id"))
    return leg


def lock_card(card_id: str) -> tuple[Card, Leg | None]:
    leg_id = Card.objects.values_list("leg_id", flat=True).get(pk=card_id)
    leg = lock_leg(leg_id)
    found = Card.objects.select_for_update(of=("self",))
    return found.select_related("buyer", "seller", "proposed_by").get(pk=card_id), leg
