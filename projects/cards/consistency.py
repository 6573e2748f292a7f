"""Whether the table says of cards what is recorded of them."""

from collections.abc import Iterator

from contracts.models.cards import Card
from projects.cards.outbox import make_shadow
from projects.cards.rendering import action_of
from threads.cache import ThreadState
from threads.dynamodb import keys
from threads.models import CardShadow, Message


def wrong_cards(state: ThreadState) -> Iterator[str]:
    thread = state.thread
    cards = Card.objects.filter(thread_id=thread.id).select_related(
        "counters", "buyer", "seller", "leg"
    )
    for card in cards:
        for problem in _wrong(card, state):
            yield f"card {card.id} {problem}"


def _wrong(card: Card, state: ThreadState) -> Iterator[str]:
    if not card.message_id:
        yield "is not in the conversation"
        return
    pk = state.thread.pk
    message = Message.find(pk, keys.message_sk(card.message_id))
    if message is None or message.action != action_of(card):
        yield "is shown as something else"
    shadow = CardShadow.find(pk, keys.card_sk(card.message_id))
    wanted = make_shadow(pk, card, card.message_id, shadow.rev if shadow else 0)
    if shadow is None or shadow.attribute_values != wanted.attribute_values:
        yield "has another shadow"
