"""Which actions a booking allows in each status.

Every action that changes a booking's records has a row in `ALLOWED`: the actions below, proposing
each card type, and every transition by a user, by staff or by a deadline. The action calls
`check_status` in its own transaction, on a locked leg.
"""

from collections.abc import Sequence

from contracts.models import Leg
from contracts.models.bookings import BOOKED, CANCELLED, COMPLETED, LEG_STATES, ON_HOLD
from core.refusals import Refusal

SIGN = "sign_contract"
RECORD_PAYMENT, RECORD_REPAYMENT = "record_payment", "record_repayment"
REVERSE_PAYMENT = "reverse_payment"
DELIVER, SHOW_PROOFS = "deliver", "show_proofs"
CHANGE = "change_terms"
# Suggesting a change is making an offer about an existing booking.
PROPOSE_CHANGE = "offer.propose"
LINK = "link"

ALWAYS = frozenset(LEG_STATES)
WHILE_BOOKED = frozenset({BOOKED})
# Declining and withdrawing are not binding, so they are allowed during a dispute.
WHILE_OPEN = frozenset({BOOKED, ON_HOLD})
# Payments are not recorded during a dispute. A cancelled booking may still need payments or
# repayments.
UNLESS_DISPUTED = frozenset({BOOKED, COMPLETED, CANCELLED})


def proposal_action(type_name: str) -> str:
    return f"{type_name}.propose"


def transition_action(type_name: str, transition_name: str) -> str:
    return f"{type_name}.{transition_name}"


ALLOWED: dict[str, frozenset[str]] = {
    SIGN: WHILE_BOOKED,
    RECORD_PAYMENT: UNLESS_DISPUTED,
    RECORD_REPAYMENT: UNLESS_DISPUTED,
    REVERSE_PAYMENT: UNLESS_DISPUTED,
    DELIVER: frozenset({BOOKED, COMPLETED}),
    # Adding proofs to the files tab and removing them.
    SHOW_PROOFS: frozenset({BOOKED, COMPLETED}),
    CHANGE: WHILE_BOOKED,
    LINK: WHILE_BOOKED,
    PROPOSE_CHANGE: WHILE_BOOKED,
    "offer.accept": WHILE_BOOKED,
    "offer.decline": ALWAYS,
    "offer.counter": WHILE_BOOKED,
    "offer.withdraw": ALWAYS,
    "offer.expire": ALWAYS,
    "reschedule.propose": WHILE_BOOKED,
    "reschedule.accept": WHILE_BOOKED,
    "reschedule.counter": WHILE_BOOKED,
    "reschedule.decline": WHILE_OPEN,
    "reschedule.withdraw": WHILE_OPEN,
    "reschedule.expire": WHILE_BOOKED,
    "extras.propose": WHILE_BOOKED,
    "extras.accept": WHILE_BOOKED,
    "extras.counter": WHILE_BOOKED,
    "extras.decline": WHILE_OPEN,
    "extras.withdraw": WHILE_OPEN,
    "overtime.propose": WHILE_BOOKED,
    "overtime.accept": WHILE_BOOKED,
    "overtime.decline": WHILE_OPEN,
    "overtime.withdraw": WHILE_OPEN,
    "proofs.propose": WHILE_BOOKED,
    "proofs.approve": WHILE_BOOKED,
    "proofs.request_changes": WHILE_BOOKED,
    "proofs.answer": WHILE_BOOKED,
    "proofs.withdraw": WHILE_OPEN,
    "proofs.expire": WHILE_BOOKED,
    "expense.propose": WHILE_BOOKED,
    "expense.accept": WHILE_BOOKED,
    "expense.decline": WHILE_OPEN,
    "expense.withdraw": WHILE_OPEN,
    "sign.propose": WHILE_BOOKED,
    "sign.sign": WHILE_BOOKED,
    "sign.decline": WHILE_OPEN,
    "sign.withdraw": WHILE_OPEN,
    "sign.void": WHILE_OPEN,
    "complete.propose": WHILE_BOOKED,
    "complete.accept": WHILE_BOOKED,
    "complete.dispute": WHILE_BOOKED,
    "complete.withdraw": WHILE_OPEN,
    "complete.auto_accept": WHILE_BOOKED,
    "cancel.propose": WHILE_BOOKED,
    "cancel.accept": WHILE_BOOKED,
    "cancel.decline": WHILE_OPEN,
    "cancel.withdraw": WHILE_OPEN,
    "dispute.propose": frozenset({BOOKED, COMPLETED}),
    "dispute.resolve": frozenset({ON_HOLD}),
    "safety.propose": ALWAYS,
    "safety.resolve": ALWAYS,
}

REASONS = {
    BOOKED: "This booking isn't in dispute.",
    ON_HOLD: "This booking is on hold while our safety team reviews the dispute.",
    COMPLETED: "This booking is completed.",
    CANCELLED: "This booking is cancelled.",
}
HINTS = {ON_HOLD: "You can continue once the dispute is decided."}


def is_allowed(status: str, action: str) -> bool:
    return status in ALLOWED[action]


def find_refusal(status: str, action: str) -> Refusal | None:
    if is_allowed(status, action):
        return None
    return Refusal("ACTION_INVALID_STATE", REASONS[status], hint=HINTS.get(status, ""))


def check_status(leg: Leg, action: str) -> None:
    """The caller has locked the leg."""
    if refusal := find_refusal(leg.status, action):
        raise refusal


def check_any_status(legs: Sequence[Leg], action: str) -> None:
    """For an action on a whole thread: at least one booking must allow it."""
    if legs and not any(is_allowed(leg.status, action) for leg in legs):
        check_status(legs[0], action)


def statuses_allowing(action: str) -> list[str]:
    return sorted(ALLOWED[action])
