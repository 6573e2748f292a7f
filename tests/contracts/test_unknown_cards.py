"""A card of a type added by a newer release breaks no page of this release."""

import pytest
from django.urls import reverse

from contracts.cards.types.complete import open_items
from contracts.models import Card
from core.refusals import Refusal
from moderation.queries import list_card_views
from projects.actions.cards import transition_card
from tests.contracts.card_helpers import propose
from tests.contracts.conftest import book
from tests.moderation.conftest import report


@pytest.fixture
def card(thread, buyer, seller):
    card = propose("extras", book(thread, buyer, seller))
    Card.objects.filter(pk=card.pk).update(type="newer")
    card.refresh_from_db()
    return card


def test_its_page_and_transitions_ask_to_try_again(client, card, buyer, stranger):
    addresses = [
        reverse("projects:card", args=[card.id]),
        reverse("projects:card_transition", args=[card.id, "accept"]),
    ]
    client.force_login(buyer)
    assert [client.get(address).status_code for address in addresses] == [503, 503]
    with pytest.raises(Refusal, match="TRY_AGAIN"):
        transition_card(buyer, card_id=card.id, transition="accept", version=card.version, key="1")
    client.force_login(stranger)
    assert [client.get(address).status_code for address in addresses] == [404, 404]


def test_its_case_and_open_items_can_be_listed(card, buyer, thread):
    assert list_card_views(report(buyer, thread)) == []
    assert [item["card"] for item in open_items(card.leg)] == [card.id]


def test_a_booking_with_an_unknown_card_is_not_ended(card):
    leg, other = card.leg, propose("cancel", card.leg)
    answerer = leg.seller if other.proposed_by == leg.buyer else leg.buyer
    with pytest.raises(Refusal, match="TRY_AGAIN"):
        transition_card(
            answerer, card_id=other.id, transition="accept", version=other.version, key="1"
        )
    assert Card.objects.get(pk=other.pk).state == other.state
