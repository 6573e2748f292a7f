"""What a type of card is made of: its states, its moves, and what each needs and changes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pydantic import BaseModel

from accounts.models import User
from contracts.models import Leg
from contracts.models.cards import Card
from core.outbox.models import OutboxEntry

# Who may do something with a card.
BUYER, SELLER, EITHER = "buyer", "seller", "either"
PROPOSER, ANSWERER = "proposer", "answerer"
AWAITED = "waited for"
DEADLINE, STAFF = "clock", "staff"
# Nobody at all: it follows from something else.
SYSTEM = "service"
ROLES = (BUYER, SELLER, EITHER, PROPOSER, ANSWERER, AWAITED, DEADLINE, STAFF, SYSTEM)

PENDING = "pending"
Payload = dict[str, Any]


@dataclass
class TransitionContext:
    """A move as it happens, in its transaction. An effect does what it has to in the records, and
    may say here what else comes of it than the table says."""

    card: Card
    leg: Leg | None
    # Nobody: the clock.
    by: User | None
    given: Any
    at: datetime
    to: str
    key: str = ""
    # Added to what the conversation is told.
    adds: str = ""
    waits_for: list[str] | None = None
    entries: list[OutboxEntry] = field(default_factory=list)

    @property
    def booking(self) -> Leg:
        assert self.leg is not None, "this type of card is always about a booking"
        return self.leg


@dataclass(frozen=True)
class Transition:
    name: str
    by: str
    sources: tuple[str, ...]
    to: str
    # What the conversation is told; `name`, `what` and the booking's `status` are filled in.
    says: str
    # On its button. Without one it has none: the clock's, or a page of its own.
    label: str = ""
    tone: str = ""
    # What one has to say with it.
    needs: type[BaseModel] | None = None
    effect: Callable[[TransitionContext], None] | None = None
    # What one has to know before one presses: a page asks first.
    asks: str = ""
    # The type of the card that comes of it, made of what one says with it.
    then: str = ""
    # Whatever the state that it leads to, nobody has to act after it.
    ends: bool = False


def accept(
    says: str, effect: Callable[[TransitionContext], None], *, by: str = ANSWERER
) -> Transition:
    return Transition(
        "accept", by, (PENDING,), "accepted", says, "Accept", "primary", effect=effect
    )


def decline(says: str, *, by: str = ANSWERER) -> Transition:
    return Transition("decline", by, (PENDING,), "declined", says, "Decline")


def withdraw(says: str) -> Transition:
    return Transition("withdraw", PROPOSER, (PENDING,), "withdrawn", says, "Take back")


def end_with_booking(*sources: str) -> Transition:
    """For what nobody can answer any more once the booking is completed or cancelled."""
    return Transition(
        "end",
        SYSTEM,
        sources or (PENDING,),
        "withdrawn",
        "The booking is {status}, so that this needs no answer any more: {what}.",
    )


@dataclass(frozen=True)
class CardType:
    name: str
    label: str
    icon: str
    by: str
    proposal: type[BaseModel]
    moves: tuple[Transition, ...]
    # What is kept of a proposal: computed here, never taken from whoever proposes.
    write: Callable[[Leg, Any, User], Payload]
    # In one line, for inboxes, searches and the line that tells of a move.
    summary: Callable[[Payload], str]
    # What its template shows.
    show: Callable[[Payload], dict[str, Any]]
    first: str = PENDING
    # Of each open state, who has to act.
    waits: dict[str, str] = field(default_factory=lambda: {PENDING: ANSWERER})
    # What proposing it changes by itself, in its transaction.
    effect: Callable[[TransitionContext], None] | None = None
    # While it is open nobody writes in the conversation.
    is_hold: bool = False
    # When the clock makes the move that is the clock's, if the type has one.
    due: Callable[[Leg, Payload, datetime], datetime] | None = None
    # Who has to act at first, where it is not simply somebody of the table.
    waiting: Callable[[Leg, Payload], list[str]] | None = None
    # How many files come with it, at least and at most.
    files: tuple[int, int] = (0, 0)
    files_label: str = "Files"
    # Only files of this kind; of pictures one may choose those that one brought before.
    file_kind: str = ""
    # What one has to know before one proposes it.
    quote: Callable[[Leg, User], dict[str, Any]] | None = None
    # What a form lets one choose from, by field.
    choices: dict[str, dict[str, str]] = field(default_factory=dict)
    # What a form begins with.
    defaults: Callable[[Leg], dict[str, Any]] = lambda leg: {}
    # Of a leg there is at most one open at a time.
    is_alone: bool = False
    proposes: str = "Propose"
    # What it comes to is shown to whoever proposes it before it is sent.
    needs_review: bool = False

    @property
    def states(self) -> tuple[str, ...]:
        reached = [move.to for move in self.moves]
        return tuple(dict.fromkeys([self.first, *self.waits, *reached]))

    @property
    def calls_staff(self) -> bool:
        """A dispute or a call for safety: it waits for staff."""
        return STAFF in self.waits.values()

    @property
    def deadline_transition(self) -> Transition | None:
        return next((move for move in self.moves if move.by == DEADLINE), None)

    def staff_transition(self, state: str) -> Transition | None:
        """What staff can do with a card in that state."""
        return self._move_of(STAFF, state)

    def system_transition(self, state: str) -> Transition | None:
        """What becomes of a card in that state when its booking is over."""
        return self._move_of(SYSTEM, state)

    def _move_of(self, role: str, state: str) -> Transition | None:
        moves = (move for move in self.moves if move.by == role and state in move.sources)
        return next(moves, None)

    def find(self, name: str) -> Transition | None:
        return next((move for move in self.moves if move.name == name), None)

    def is_open(self, state: str) -> bool:
        return state in self.waits


def holds(role: str, user: User | None, card: Card) -> bool:
    """Whether this person is the one whom the table means."""
    if role == SYSTEM:
        # Nobody can ask for it.
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
    """For buttons: whose they are."""
    users = [user for user in (card.buyer, card.seller) if holds(role, user, card)]
    return [user.id for user in users]
