"""Whether the table says of cards what is recorded of them."""

from collections.abc import Iterator

from contracts.models.cards import Card
from threads.cards.carrying import make_shadow, waits_in
from threads.cards.showing import action_of
from threads.models import ActionWaiting, CardShadow, Message, keys
from threads.state import ThreadState


def wrong_cards(state: ThreadState) -> Iterator[str]:
    thread = state.thread
    cards = Card.objects.filter(thread_id=thread.id).select_related("counters", "buyer", "seller")
    for card in cards:
        for problem in _wrong(card, state):
            yield f"card {card.id} {problem}"
    if list(thread.card_waits or []) != waits_in(thread.id):
        yield f"cards wait for {thread.card_waits}"


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
    for user_id in card.parties:
        waiting = ActionWaiting.find(
            keys.user_pk(user_id), keys.waiting_sk(card.thread_id, card.message_id)
        )
        waits = user_id in card.waits_for and user_id in state.people
        if waits != (waiting is not None):
            yield f"{'does not wait' if waits else 'waits'} for {user_id}"
