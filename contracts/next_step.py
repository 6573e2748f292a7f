"""The next step of a booking: what has to happen, and who has to do it.

Everything is derived from records: the leg, its contract and signatures, payments and open cards.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from contracts.cards.superseding import OFFER
from contracts.cards.types import proofs, sign
from contracts.instalments import Account
from contracts.models import Card, ContractVersion, Leg
from contracts.models.bookings import BOOKED, CANCELLED, COMPLETED, ON_HOLD
from contracts.models.documents import IN_FORCE, ISSUED, VOID
from contracts.queries import get_balance
from contracts.status import RECORD_REPAYMENT, SIGN, is_allowed

CONTRACT = "contract"
DEPOSIT, BALANCE, REPAYMENT = "deposit", "balance", "repayment"
PAYMENT_KINDS = (DEPOSIT, BALANCE, REPAYMENT)
NEW_PROOFS, COMPLETION = "new_proofs", "completion"
# Staff are reviewing a dispute or a safety request; no party has to act.
REVIEW = "review"

# What the user has to do, most urgent first: open cards by type, then the other kinds.
PHRASES = {
    "cancel": "reply to the cancellation",
    "complete": "review the completed work",
    "reschedule": "reply to the new time",
    "proofs": "review the proofs",
    NEW_PROOFS: "share new proofs",
    "sign": "sign the contract",
    CONTRACT: "sign the contract",
    OFFER: "reply to the offer",
    "extras": "review the extras",
    "overtime": "review the overtime",
    "expense": "review the expense",
    DEPOSIT: "pay the deposit",
    BALANCE: "pay what's due",
    REPAYMENT: "repay what's owed",
    COMPLETION: "mark the booking as completed",
}
# Types that only a newer version knows.
UNKNOWN_PHRASE = "reply"
_RANKS = {kind: rank for rank, kind in enumerate(PHRASES)}

AGREED, SIGNED, DAY, PROOFS, PAID = "agreed", "signed", "day", "proofs", "paid"


@dataclass(frozen=True)
class NextStep:
    kind: str
    # Who has to act; nobody while staff decide.
    user_ids: tuple[str, ...] = ()
    # The card, contract or leg that it is about.
    record_id: str = ""
    cents: int = 0
    # Until then nobody has to act.
    not_before: datetime | None = None


@dataclass(frozen=True)
class Stage:
    """A stage of a booking. `is_done` is None for the day itself, which only the clock decides."""

    name: str
    is_done: bool | None


@dataclass(frozen=True)
class BookingRecords:
    """The records of one booking that decide its next step."""

    leg: Leg
    balance: Account
    # The current version of the contract, and who has not signed it.
    document_id: str = ""
    contract_status: str = ""
    unsigned: tuple[str, ...] = ()
    # Oldest first.
    open_cards: tuple[Card, ...] = ()
    has_approved_proofs: bool = False

    @property
    def is_in_force(self) -> bool:
        return self.contract_status == IN_FORCE

    @property
    def has_open_proofs(self) -> bool:
        return any(card.type == proofs.TYPE.name for card in self.open_cards)


def read_booking(leg: Leg, *, at: datetime | None = None) -> BookingRecords:
    """`at` decides what is due; now by default."""
    version = _current_version(leg)
    cards = leg.cards.filter(
        Q(is_open=True) | Q(type=proofs.TYPE.name, state=proofs.APPROVED)
    ).order_by("created_at", "id")
    found = list(cards)
    return BookingRecords(
        leg,
        get_balance(leg, at=at),
        document_id=version.document_id if version else "",
        contract_status=version.status if version else "",
        unsigned=_unsigned(leg, version),
        open_cards=tuple(card for card in found if card.is_open),
        has_approved_proofs=any(not card.is_open for card in found),
    )


def _current_version(leg: Leg) -> ContractVersion | None:
    versions = ContractVersion.objects.filter(document__leg=leg).exclude(status=VOID)
    return versions.defer("pdf", "signed_pdf", "clauses").prefetch_related("signatures").first()


def _unsigned(leg: Leg, version: ContractVersion | None) -> tuple[str, ...]:
    if version is None:
        return ()
    signed = {signature.user_id for signature in version.signatures.all()}
    return tuple(user_id for user_id in leg.parties if user_id not in signed)


def find_next_step(records: BookingRecords) -> NextStep | None:
    """None if nothing is left to do."""
    if records.leg.status == ON_HOLD or any(not card.waits_for for card in records.open_cards):
        return NextStep(REVIEW)
    # The first of several with the same rank is the oldest.
    return min(_list_steps(records), key=lambda step: get_rank(step.kind), default=None)


def _list_steps(records: BookingRecords) -> Iterator[NextStep]:
    leg = records.leg
    for card in records.open_cards:
        # The contract itself is the step: it is signed with or without the request.
        if card.type != sign.TYPE.name:
            yield NextStep(_kind_of_card(card), tuple(card.waits_for), card.id)
    if records.contract_status == ISSUED and records.unsigned and is_allowed(leg.status, SIGN):
        yield NextStep(CONTRACT, records.unsigned, records.document_id)
    if payment := find_payment_step(leg, records.balance):
        yield payment
    if leg.status == BOOKED and records.is_in_force:
        earliest = None if records.has_approved_proofs else leg.ends_at
        yield NextStep(COMPLETION, (leg.seller_id,), leg.id, not_before=earliest)


def _kind_of_card(card: Card) -> str:
    is_returned = card.type == proofs.TYPE.name and card.state == proofs.CHANGES
    return NEW_PROOFS if is_returned else card.type


def find_payment_step(leg: Leg, balance: Account) -> NextStep | None:
    """A payment that is due, or a repayment. During a dispute nothing is."""
    if balance.due_cents > 0:
        is_deposit = leg.status == BOOKED and balance.paid_cents < leg.deposit_cents
        kind = DEPOSIT if is_deposit else BALANCE
        return NextStep(kind, (leg.buyer_id,), leg.id, balance.due_cents)
    if balance.open_cents < 0 and is_allowed(leg.status, RECORD_REPAYMENT):
        return NextStep(REPAYMENT, (leg.seller_id,), leg.id, -balance.open_cents)
    return None


def list_stages(records: BookingRecords, *, is_private: bool) -> list[Stage]:
    """The stages that apply to a booking. Only the two parties see those about money and dates;
    a cancelled booking has just the stages that it reached."""
    leg, balance = records.leg, records.balance
    stages = [Stage(AGREED, True), Stage(SIGNED, records.is_in_force)]
    if is_private and leg.deposit_cents:
        needed = min(leg.deposit_cents, balance.total_cents)
        stages.append(Stage(DEPOSIT, 0 < balance.paid_cents >= needed))
    if is_private:
        stages.append(Stage(DAY, None))
    if records.has_approved_proofs or records.has_open_proofs:
        stages.append(Stage(PROOFS, records.has_approved_proofs))
    stages.append(Stage(COMPLETED, leg.status == COMPLETED))
    if is_private and balance.total_cents > 0:
        stages.append(Stage(PAID, balance.open_cents <= 0))
    if leg.status == CANCELLED:
        return [*(stage for stage in stages if stage.is_done), Stage(CANCELLED, True)]
    return stages


# --- Wording


def get_rank(kind: str) -> int:
    return _RANKS.get(kind, _RANKS[OFFER])


def kind_of_pending(pending_type: str, *, is_buyer: bool) -> str:
    """The kind of a pending action, whose type is that of its card."""
    is_returned = pending_type == proofs.TYPE.name and not is_buyer
    return NEW_PROOFS if is_returned else pending_type


def describe_own_step(kind: str) -> str:
    """For the user who has to act: "Sign the contract"."""
    phrase = PHRASES.get(kind, UNKNOWN_PHRASE)
    return phrase[:1].upper() + phrase[1:]


def describe_others_step(kind: str, names: str) -> str:
    """For other users: "Waiting for Mara to sign the contract"."""
    return f"Waiting for {names} to {PHRASES.get(kind, UNKNOWN_PHRASE)}"
