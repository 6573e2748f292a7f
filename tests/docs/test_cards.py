"""docs/cards.md equals the diagrams generated from the tables."""

from contracts.cards.diagram import page
from tests.docs import pages


def test_the_diagrams_match_the_tables():
    assert pages.read("cards.md") == page(), "script/manage draw_cards > docs/cards.md"
