"""Links to cards in their conversations."""

from django.http import HttpResponse
from django.shortcuts import redirect

from contracts.models import Card
from threads.rendering.messages import message_url


def card_url(card: Card) -> str:
    """The URL of the card's message, or of its own page before the message is stored."""
    if card.message_id:
        return message_url(card.thread_id, card.message_id)
    return f"/cards/{card.id}/"


def redirect_to_card(card: Card) -> HttpResponse:
    card.refresh_from_db()
    return redirect(card_url(card))
