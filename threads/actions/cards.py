"""What people do with cards: the record first, then the conversation follows."""

from collections.abc import Sequence
from typing import Any

from accounts.models import User
from contracts.cards import engine
from contracts.models import Card
from threads import state as states
from threads.actions.attaching import attach
from threads.actions.messages import check_may_write
from threads.relay import carry_all


def propose_card(
    user: User,
    *,
    thread_id: str,
    type_name: str,
    leg_id: str,
    key: str,
    given: dict[str, Any],
    file_ids: Sequence[str] = (),
) -> Card:
    check_may_write(states.look(thread_id), user.id)
    attached = attach(user, file_ids, [], thread_id=thread_id, client_id=key)

    def reserve(card: Card) -> None:
        # Under the name that its message will have: whatever happens, they find each other.
        attached.client_id = card.id
        attached.reserve()

    done = engine.propose(
        user,
        type_name=type_name,
        thread_id=thread_id,
        leg_id=leg_id,
        key=key,
        given=given,
        files=attached.described,
        also=reserve,
    )
    carry_all(done.entries)
    return done.card


def move_card(
    user: User,
    *,
    card_id: str,
    move: str,
    version: int,
    key: str,
    given: dict[str, Any] | None = None,
) -> Card:
    card = engine.find_card(user, card_id)
    check_may_write(states.look(card.thread_id), user.id)
    done = engine.move(user, card_id=card_id, name=move, version=version, key=key, given=given)
    carry_all(done.entries)
    return done.card
