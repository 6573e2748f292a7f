"""docs/cards.md is what the tables say."""

from contracts.cards.diagram import page
from tests.docs import pages


def test_the_diagrams_are_those_of_the_tables():
    assert pages.read("cards.md") == page(), "script/manage draw_cards > docs/cards.md"
