"""What people do with cards: the record first, then the conversation follows."""

from collections.abc import Callable, Sequence
from typing import Any

from accounts.models import User
from contracts.cards import proposals, transitions
from contracts.cards.locks import access_card
from contracts.cards.types import TYPES
from contracts.models import Card
from core.rate_limits import check_rate_limit
from core.refusals import Refusal
from threads import cache
from threads.actions.attachments import MessageAttachments, collect_attachments
from threads.actions.messages import check_can_write
from threads.actions.staff import lift_soft_block
from threads.outbox_handlers import process_entries


def propose_card(
    user: User,
    *,
    thread_id: str,
    type_name: str,
    leg_id: str,
    key: str,
    given: dict[str, Any],
    file_ids: Sequence[str] = (),
    locale: str = "",
) -> Card:
    if not Card.objects.filter(proposed_by=user, key=key).exists():
        check_rate_limit("proposal", user.id)
        # A repeat may find the conversation on hold by what it repeats.
        check_can_write(cache.reload(thread_id), user.id, despite_hold=calls_staff(type_name))
    attached = _attach(user, file_ids, thread_id)
    done = proposals.propose(
        user,
        type_name=type_name,
        thread_id=thread_id,
        leg_id=leg_id,
        key=key,
        given=given,
        files=attached.described,
        also=_reserve(attached),
        locale=locale,
    )
    process_entries(done.entries)
    return done.card


def calls_staff(type_name: str) -> bool:
    kind = TYPES.get(type_name)
    return kind is not None and kind.calls_staff


def _attach(user: User, file_ids: Sequence[str], thread_id: str) -> MessageAttachments:
    """Named by the card, once there is one."""
    return collect_attachments(user, file_ids, [], thread_id=thread_id, client_id="")


def _reserve(attached: MessageAttachments) -> Callable[[Card], None]:
    def reserve(card: Card) -> None:
        # Under the name that its message will have: whatever happens, they find each other.
        attached.client_id = card.id
        attached.reserve()

    return reserve


def transition_card(
    user: User,
    *,
    card_id: str,
    move: str,
    version: int,
    key: str,
    given: dict[str, Any] | None = None,
    file_ids: Sequence[str] = (),
    locale: str = "",
) -> Card:
    """`file_ids` are for the card that comes of it."""
    card = access_card(user, card_id)
    if not card.steps.filter(by=user, key=key).exists():
        # A repeat may find that nobody writes there any more.
        chosen = TYPES[card.type].find(move)
        despite_hold = chosen is not None and calls_staff(chosen.then)
        check_can_write(cache.reload(card.thread_id), user.id, despite_hold=despite_hold)
    attached = _attach(user, file_ids, card.thread_id)
    done = transitions.move(
        user,
        card_id=card_id,
        name=move,
        version=version,
        key=key,
        given=given,
        files=attached.described,
        also=_reserve(attached),
        locale=locale,
    )
    process_entries(done.entries)
    return done.card


def decide_card(staff: User, *, thread_id: str, card_id: str, reason: str) -> None:
    """By staff, under a case: what was opened for them. `reason` is what both are told."""
    card = access_card(None, card_id)
    kind = TYPES[card.type]
    chosen = kind.staff_transition(card.state)
    if card.thread_id != thread_id:
        raise Refusal("THREAD_NOT_FOUND", "There is no such card.")
    if chosen is None:
        raise Refusal("ACTION_INVALID_STATE", "This is decided already.")
    if kind.is_hold:
        # First: after an interruption the card is still open and can be decided again.
        lift_soft_block(thread_id=thread_id, says="")
    key = f"{chosen.name}-{card.version}"
    done = transitions.decide(
        staff, card_id=card_id, name=chosen.name, key=key, given={"reason": reason}
    )
    process_entries(done.entries)
