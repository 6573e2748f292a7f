"""Compares the cards of a thread in DynamoDB with their SQL records."""

from collections.abc import Iterator
from typing import Any

from contracts.models.cards import Card
from projects.cards.outbox import make_shadow, refresh_card
from projects.cards.rendering import make_card_action
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.models import CardShadow, Message

# Words in stored summaries of earlier releases, and their current wording.
EARLIER_WORDS = (
    ("stays due", "still due"),
    ("picture", "photo"),
    ("it was not delivered", "not delivered"),
    ("it is not what was agreed", "not as agreed"),
    ("the money is not right", "payment problem"),
)


def update_wording(summary: str) -> str:
    for earlier, current in EARLIER_WORDS:
        summary = summary.replace(earlier, current)
    return summary


def refresh_open_cards(cached: CachedThread) -> None:
    """Writes the open cards that differ from their records: an earlier release did not know all of
    their transitions."""
    cards = Card.objects.filter(thread_id=cached.thread.id, is_open=True).exclude(message_id="")
    for card in cards.select_related("counters", "buyer", "seller", "leg", "offer"):
        if any(_wrong(card, cached)):
            refresh_card(card.id, card.message_id)


def list_card_problems(cached: CachedThread) -> Iterator[str]:
    thread = cached.thread
    cards = Card.objects.filter(thread_id=thread.id).select_related(
        "counters", "buyer", "seller", "leg", "offer"
    )
    for card in cards:
        for problem in _wrong(card, cached):
            yield f"card {card.id} {problem}"


def _wrong(card: Card, cached: CachedThread) -> Iterator[str]:
    if card.offer is not None and card.offer.status != card.state:
        yield f"is {card.state}, but its offer is {card.offer.status}"
    if not card.message_id:
        yield "has no message in the thread"
        return
    pk = cached.thread.pk
    message = Message.find(pk, keys.message_sk(card.message_id))
    if message is None or _comparable(message.action) != _comparable(make_card_action(card)):
        yield "differs from its message"
    shadow = CardShadow.find(pk, keys.card_sk(card.message_id))
    wanted = make_shadow(pk, card, card.message_id, shadow.rev if shadow else 0)
    if shadow is None or shadow.attribute_values != wanted.attribute_values:
        yield "differs from its shadow"


def _comparable(action: dict[str, Any] | None) -> dict[str, Any] | None:
    if not action or not action.get("answers"):
        return action
    answered = action["answers"]
    return action | {"answers": answered | {"what": update_wording(answered["what"])}}
