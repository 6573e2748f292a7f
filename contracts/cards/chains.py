"""Cards that answer one another."""

from contracts.models.cards import Card


def list_chain(card: Card) -> list[Card]:
    """From the first to the newest; nothing if it stands by itself."""
    chain = [card]
    while (before := chain[0].counters) is not None:
        chain.insert(0, before)
    while (after := Card.objects.filter(counters=chain[-1]).first()) is not None:
        chain.append(after)
    return chain if len(chain) > 1 else []
