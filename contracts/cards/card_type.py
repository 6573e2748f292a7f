"""The definition of a card type: its states, its transitions, their input and their effects."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pydantic import BaseModel

from accounts.models import User
from contracts.models import Leg
from contracts.models.cards import Card
from core.outbox.models import OutboxEntry

# Roles that can apply a transition.
BUYER, SELLER, EITHER = "buyer", "seller", "either"
PROPOSER, ANSWERER = "proposer", "answerer"
AWAITED = "awaited"
DEADLINE, STAFF = "deadline", "staff"
# Applied by the product as a consequence of another change.
SYSTEM = "system"
ROLES = (BUYER, SELLER, EITHER, PROPOSER, ANSWERER, AWAITED, DEADLINE, STAFF, SYSTEM)

PENDING = "pending"
Payload = dict[str, Any]


@dataclass(frozen=True)
class BookingState:
    """What decides whether a card can be proposed, beyond the role of the user."""

    status: str
    open_types: frozenset[str] = frozenset()
    is_in_force: bool = False
    has_ended: bool = False
    has_approved_proofs: bool = False


@dataclass
class TransitionContext:
    """A transition in progress, in its SQL transaction. Effects change the records and may override
    the target state and who is awaited."""

    card: Card
    leg: Leg | None
    # None for a deadline.
    by: User | None
    given: Any
    at: datetime
    to: str
    key: str = ""
    # Appended to the system message.
    extra_text: str = ""
    waits_for: list[str] | None = None
    entries: list[OutboxEntry] = field(default_factory=list)
    # Cards that the transition `supersede` closes as a consequence.
    superseded: list[Card] = field(default_factory=list)

    @property
    def booking(self) -> Leg:
        assert self.leg is not None, "this card type is always about a booking"
        return self.leg


@dataclass(frozen=True)
class Transition:
    name: str
    by: str
    sources: tuple[str, ...]
    to: str
    # The system message; `name`, `what` and the booking's `status` are filled in.
    text: str
    # The label of its button. Transitions without one are not offered on the card.
    label: str = ""
    tone: str = ""
    # The form input that it requires.
    input_model: type[BaseModel] | None = None
    effect: Callable[[TransitionContext], None] | None = None
    # Shown on a confirmation page first.
    confirmation: str = ""
    # The type of the follow-up card, created from the input.
    next_type: str = ""
    # Closes the card in any target state.
    closes: bool = False
    # Whether a system message tells about it. The card itself always does.
    is_announced: bool = True
    # What the user should know first; if there is something, it needs a confirmation.
    warnings: Callable[[Card, User], list[str]] | None = None


def accept(
    text: str,
    effect: Callable[[TransitionContext], None],
    *,
    by: str = ANSWERER,
    warnings: Callable[[Card, User], list[str]] | None = None,
) -> Transition:
    return Transition(
        *("accept", by, (PENDING,), "accepted", text, "Accept", "primary"),
        effect=effect,
        warnings=warnings,
    )


def decline(text: str, *, by: str = ANSWERER) -> Transition:
    return Transition("decline", by, (PENDING,), "declined", text, "Decline")


def withdraw(text: str, *sources: str) -> Transition:
    return Transition("withdraw", PROPOSER, sources or (PENDING,), "withdrawn", text, "Withdraw")


def end_with_booking(*sources: str) -> Transition:
    """Closes the card when its booking is completed or cancelled."""
    return Transition(
        "end",
        SYSTEM,
        sources or (PENDING,),
        "withdrawn",
        "The booking is {status}, so this no longer needs a reply: {what}.",
    )


@dataclass(frozen=True)
class CardType:
    name: str
    label: str
    icon: str
    by: str
    proposal: type[BaseModel]
    transitions: tuple[Transition, ...]
    # Builds the stored payload. Amounts are computed here, never taken from the input.
    build_payload: Callable[[Any, Any, User], Payload]
    # One line for inboxes, search and system messages.
    summary: Callable[[Payload], str]
    # Values for its template.
    show: Callable[[Payload], dict[str, Any]]
    first: str = PENDING
    # The role that has to act in each open state.
    waits: dict[str, str] = field(default_factory=lambda: {PENDING: ANSWERER})
    # What proposing the card changes, in its transaction.
    effect: Callable[[TransitionContext], None] | None = None
    # No one can send messages in the thread while it is open.
    is_hold: bool = False
    # The deadline, for types with a deadline transition.
    due: Callable[[Any, Payload, datetime], datetime] | None = None
    due_label: str = "reply by"
    # The system message a day before the deadline; `what` is filled in.
    warning: str = ""
    # The users who have to act first, where no single role describes them.
    initially_awaited: Callable[[Leg, Payload], list[str]] | None = None
    # Minimum and maximum number of files.
    files: tuple[int, int] = (0, 0)
    files_label: str = "Files"
    # Restricts files to this kind; for images the form also offers earlier uploads.
    file_kind: str = ""
    # The outcome, shown in the proposal form.
    quote: Callable[[Leg, User], dict[str, Any]] | None = None
    # Options of the choice fields of the form.
    choices: dict[str, dict[str, str]] = field(default_factory=dict)
    # Initial values of the form.
    defaults: Callable[[Leg], dict[str, Any]] = lambda leg: {}
    # At most one open card of this type per leg.
    is_exclusive: bool = False
    propose_label: str = "Propose"
    # What proposing it does, in one line.
    description: str = ""
    # Why a booking does not allow it yet, or empty; `build_payload` refuses for the same reasons.
    obstacle: Callable[[BookingState], str] | None = None
    # Shown to its author for review before it is sent.
    needs_review: bool = False
    # What its author should know before it is sent.
    warnings: Callable[[Leg, Payload, User], list[str]] | None = None

    # The label of a card, where it depends on its content.
    label_for: Callable[[Payload], str] | None = None

    def get_label(self, payload: Payload) -> str:
        return self.label_for(payload) if self.label_for else self.label

    @property
    def states(self) -> tuple[str, ...]:
        reached = [transition.to for transition in self.transitions]
        return tuple(dict.fromkeys([self.first, *self.waits, *reached]))

    @property
    def needs_staff(self) -> bool:
        """Whether the card waits for staff: a dispute or a safety request."""
        return STAFF in self.waits.values()

    @property
    def deadline_transition(self) -> Transition | None:
        return next(
            (transition for transition in self.transitions if transition.by == DEADLINE), None
        )

    def staff_transition(self, state: str) -> Transition | None:
        """The transition that staff can apply in a state."""
        return self._transition_of(STAFF, state)

    def system_transition(self, state: str) -> Transition | None:
        """The transition in a state when the booking ends."""
        return self._transition_of(SYSTEM, state)

    def _transition_of(self, role: str, state: str) -> Transition | None:
        found = (
            transition
            for transition in self.transitions
            if transition.by == role and state in transition.sources
        )
        return next(found, None)

    def find_transition(self, name: str) -> Transition | None:
        return next(
            (transition for transition in self.transitions if transition.name == name), None
        )

    def is_open(self, state: str) -> bool:
        return state in self.waits


def has_role(role: str, user: User | None, card: Card) -> bool:
    """Whether a user has a role for a card. `user` is None for a deadline."""
    if role == SYSTEM:
        return False
    if user is None or role == DEADLINE:
        return user is None and role == DEADLINE
    if role == STAFF:
        return user.is_staff and user.id not in card.parties
    rightful = {
        BUYER: (card.buyer_id,),
        SELLER: (card.seller_id,),
        EITHER: card.parties,
        PROPOSER: (card.proposed_by_id,),
        ANSWERER: (card.answerer_id,),
        AWAITED: tuple(card.waits_for),
    }
    return user.id in rightful[role]


def list_users_with_role(role: str, card: Card) -> list[str]:
    """The parties who have a role, for the visibility of buttons."""
    users = [user for user in (card.buyer, card.seller) if has_role(role, user, card)]
    return [user.id for user in users]
