"""Whether the table says of cards what is recorded of them."""

from collections.abc import Iterator

from contracts.models.cards import Card
from projects.cards.outbox import make_shadow
from projects.cards.rendering import make_card_action
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.models import CardShadow, Message


def list_card_problems(cached: CachedThread) -> Iterator[str]:
    thread = cached.thread
    cards = Card.objects.filter(thread_id=thread.id).select_related(
        "counters", "buyer", "seller", "leg"
    )
    for card in cards:
        for problem in _wrong(card, cached):
            yield f"card {card.id} {problem}"


def _wrong(card: Card, cached: CachedThread) -> Iterator[str]:
    if not card.message_id:
        yield "is not in the conversation"
        return
    pk = cached.thread.pk
    message = Message.find(pk, keys.message_sk(card.message_id))
    if message is None or message.action != make_card_action(card):
        yield "is shown as something else"
    shadow = CardShadow.find(pk, keys.card_sk(card.message_id))
    wanted = make_shadow(pk, card, card.message_id, shadow.rev if shadow else 0)
    if shadow is None or shadow.attribute_values != wanted.attribute_values:
        yield "has another shadow"
