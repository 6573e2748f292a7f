"""Actions on cards: each stores the record in SQL, then processes its outbox entries."""

from collections.abc import Callable, Sequence
from typing import Any

from accounts.models import User
from contracts.cards import proposals, transitions
from contracts.cards.locks import access_card
from contracts.cards.types import TYPES
from contracts.models import Card
from contracts.refusals import not_found
from core.outbox.processing import process_now
from core.rate_limits import check_rate_limit
from core.refusals import Refusal
from threads import cache, policy
from threads.actions.attachments import MessageAttachments, collect_attachments
from threads.actions.staff import lift_soft_block
from threads.permissions import check_can_write


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
        # Skipped for a repeat: the first attempt may itself have put the thread on hold.
        check_can_write(cache.reload(thread_id), user.id, despite_hold=needs_staff(type_name))
    attached = _attach(user, file_ids, thread_id)
    done = proposals.propose(
        user,
        type_name=type_name,
        thread_id=thread_id,
        leg_id=leg_id,
        key=key,
        given=given,
        files=attached.descriptions,
        on_created=_reserve(attached),
        locale=locale,
    )
    process_now(done.entries)
    return done.card


def needs_staff(type_name: str) -> bool:
    kind = TYPES.get(type_name)
    return kind is not None and kind.needs_staff


def _attach(user: User, file_ids: Sequence[str], thread_id: str) -> MessageAttachments:
    """The client id is set once the card exists."""
    return collect_attachments(user, file_ids, [], thread_id=thread_id, client_id="")


def _reserve(attached: MessageAttachments) -> Callable[[Card], None]:
    def reserve(card: Card) -> None:
        # The client id of the card's message, so that a retry finds the reserved files.
        attached.client_id = card.id
        attached.reserve()

    return reserve


def transition_card(
    user: User,
    *,
    card_id: str,
    transition: str,
    version: int,
    key: str,
    given: dict[str, Any] | None = None,
    file_ids: Sequence[str] = (),
    locale: str = "",
) -> Card:
    """`file_ids` belong to the follow-up card, if the transition creates one."""
    card = access_card(user, card_id)
    if not card.steps.filter(by=user, key=key).exists():
        # Skipped for a repeat: the thread may have been locked since the first attempt.
        chosen = TYPES[card.type].find_transition(transition)
        despite_hold = chosen is not None and needs_staff(chosen.next_type)
        cached = cache.reload(card.thread_id)
        check_can_write(cached, user.id, despite_hold=despite_hold)
        # Before a booking, the reason for declining an offer is under the policy, like messages.
        policy.check_text(cached.thread, str((given or {}).get("reason", "")))
    attached = _attach(user, file_ids, card.thread_id)
    done = transitions.apply_transition(
        user,
        card_id=card_id,
        name=transition,
        version=version,
        key=key,
        given=given,
        files=attached.descriptions,
        on_created=_reserve(attached),
        locale=locale,
    )
    process_now(done.entries)
    return done.card


def decide_card(staff: User, *, thread_id: str, card_id: str, reason: str) -> None:
    """Applies a staff decision under a case. Both parties see `reason`."""
    card = access_card(None, card_id)
    kind = TYPES[card.type]
    chosen = kind.staff_transition(card.state)
    if card.thread_id != thread_id:
        raise not_found("card")
    if chosen is None:
        raise Refusal("ACTION_INVALID_STATE", "This has already been decided.")
    if kind.is_hold:
        # Before the decision: after a crash the card is still open and can be decided again.
        lift_soft_block(thread_id=thread_id, text="")
    key = f"{chosen.name}-{card.version}"
    done = transitions.apply_decision(
        staff, card_id=card_id, name=chosen.name, key=key, given={"reason": reason}
    )
    process_now(done.entries)
