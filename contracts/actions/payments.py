"""Records payments, repayments and reversals, and issues their receipts.

An entry is recorded by the seller, or confirmed by a payment provider (contracts/ledger)."""

from datetime import date, timedelta
from zoneinfo import ZoneInfo

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from accounts.models import User
from contracts.actions.billing import copy_tax_details
from contracts.actions.revisions import record_leg_change
from contracts.fields import format_day
from contracts.models import Amendment, LedgerEntry, Leg, Receipt
from contracts.models.money import METHODS, PAYMENT, REFUND, REPAYMENT, REVERSAL
from contracts.money import format_amount
from contracts.queries import format_outstanding, get_balance
from contracts.refusals import ONLY_SELLER_RECORDS, not_found
from contracts.status import RECORD_PAYMENT, RECORD_REPAYMENT, REVERSE_PAYMENT, check_status
from core.outbox.models import OutboxEntry
from core.refusals import Refusal

ACTIONS = {PAYMENT: RECORD_PAYMENT, REPAYMENT: RECORD_REPAYMENT}
# A payment may predate the booking, but not by years.
EARLIEST_PAYMENT = timedelta(days=365)


@transaction.atomic
def record_payment(
    seller: User,
    *,
    leg_id: str,
    key: str,
    kind: str,
    cents: int,
    paid_on: date,
    method: str,
    outstanding: int,
) -> tuple[Receipt, list[OutboxEntry]]:
    """Records all or part of the outstanding amount or of the amount to repay. `outstanding` is the
    balance that the seller confirmed; the entry is refused if it has changed."""
    leg = _lock(seller, leg_id)
    entry = LedgerEntry(
        leg=leg,
        key=f"{seller.id}:{key}",
        kind=kind,
        amount_cents=cents,
        paid_on=paid_on,
        method=method,
    )
    before = LedgerEntry.objects.filter(key=entry.key).first()
    if before is not None:
        return _repeated(before, entry)
    open_cents = get_balance(leg).open_cents
    check_payment(leg, open_cents, kind=kind, cents=cents, paid_on=paid_on, method=method)
    if open_cents != outstanding:
        raise Refusal(
            "ACTION_INVALID_STATE",
            "The outstanding amount has changed.",
            hint="Check the new amounts and confirm again.",
        )
    after = open_cents - cents if kind == PAYMENT else open_cents + cents
    details = f" ({METHODS[method].lower()}, {format_day(paid_on)})"
    return _record(entry, after, what=kind, details=details)


def check_payment(
    leg: Leg, open_cents: int, *, kind: str, cents: int, paid_on: date, method: str
) -> None:
    """Called for the summary and again when the payment is recorded. `open_cents` is the
    outstanding balance of the leg."""
    if kind not in ACTIONS or method not in METHODS:
        raise Refusal("BAD_FRAME")
    check_status(leg, ACTIONS[kind])
    _check_amount(leg, open_cents, kind, cents)
    _check_date(leg, paid_on)


def _check_amount(leg: Leg, open_cents: int, kind: str, cents: int) -> None:
    limit = open_cents if kind == PAYMENT else -open_cents
    if cents <= 0:
        raise Refusal("PAYMENT_INVALID", "Enter an amount above zero.")
    if limit <= 0:
        nothing = "outstanding" if kind == PAYMENT else "to be repaid"
        raise Refusal("PAYMENT_INVALID", f"Nothing is {nothing}.")
    if cents > limit:
        label = "is outstanding" if kind == PAYMENT else "has to be repaid"
        raise Refusal("PAYMENT_INVALID", f"Only {format_amount(limit, leg.currency)} {label}.")


def _check_date(leg: Leg, paid_on: date) -> None:
    today = timezone.now().astimezone(ZoneInfo(leg.seller.time_zone)).date()
    if paid_on > today:
        raise Refusal("PAYMENT_INVALID", "The payment date can't be in the future.")
    if paid_on < (leg.created_at - EARLIEST_PAYMENT).date():
        raise Refusal("PAYMENT_INVALID", "That date is more than a year before the booking.")


@transaction.atomic
def reverse_payment(
    seller: User, *, receipt_id: str, key: str
) -> tuple[Receipt, list[OutboxEntry]]:
    """Corrects an entry by a second one with its own receipt; the first entry stays."""
    receipt = Receipt.objects.filter(pk=receipt_id).first()
    leg = _lock(seller, receipt.leg_id if receipt else "")
    assert receipt is not None
    reversed_entry = receipt.entry
    entry = LedgerEntry(
        leg=leg,
        key=f"{seller.id}:{key}",
        kind=REVERSAL,
        amount_cents=reversed_entry.amount_cents,
        reverses=reversed_entry,
    )
    before = LedgerEntry.objects.filter(key=entry.key).first()
    if before is not None:
        return _repeated(before, entry)
    check_reversal(leg, reversed_entry)
    sign = 1 if reversed_entry.kind == PAYMENT else -1
    after = get_balance(leg).open_cents + sign * entry.amount_cents
    details = f" (receipt {receipt.number})"
    return _record(entry, after, what=f"reversal of the {reversed_entry.kind}", details=details)


def check_reversal(leg: Leg, entry: LedgerEntry) -> None:
    """Called for the confirmation page and again when the reversal is recorded."""
    check_status(leg, REVERSE_PAYMENT)
    if entry.event_id:
        raise Refusal(
            "ACTION_INVALID_STATE",
            "The payment provider confirmed this, so it can't be reversed here.",
            hint="Refund the payment instead.",
        )
    if entry.kind == REVERSAL:
        raise Refusal(
            "ACTION_INVALID_STATE",
            "You can't reverse a reversal.",
            hint="Record the payment again instead.",
        )
    reversal = LedgerEntry.objects.filter(reverses=entry).select_related("receipt").first()
    if reversal is not None:
        raise Refusal(
            "ACTION_INVALID_STATE",
            f"This was already reversed by receipt {reversal.receipt.number}.",
        )
    if entry.kind == PAYMENT and get_balance(leg).paid_cents < entry.amount_cents:
        raise Refusal(
            "ACTION_INVALID_STATE",
            "Part of this payment was repaid.",
            hint="Reverse the repayment first.",
        )


def add_amendment(
    by: User,
    *,
    leg: Leg,
    kind: str,
    items: list[dict[str, object]],
    cents: int,
    card_id: str | None = None,
) -> Amendment:
    """Called in the transaction of the agreement, which also records the change."""
    return Amendment.objects.create(
        leg=leg,
        kind=kind,
        items=items,
        amount_cents=-abs(cents) if kind == REFUND else cents,
        currency=leg.currency,
        card_id=card_id,
        made_by=by,
        made_at=timezone.now(),
    )


def _lock(seller: User, leg_id: str) -> Leg:
    leg = _lock_leg(seller.pk, leg_id)
    if leg is None or seller.id not in leg.parties:
        raise not_found("booking")
    if seller.id != leg.seller_id:
        raise Refusal("ACTION_FORBIDDEN", ONLY_SELLER_RECORDS)
    return leg


def lock_leg_of_seller(leg_id: str) -> Leg:
    """For an entry that a payment provider confirmed."""
    leg = _lock_leg(Leg.objects.values_list("seller_id", flat=True).get(pk=leg_id), leg_id)
    assert leg is not None
    return leg


def _lock_leg(seller_id: str, leg_id: str) -> Leg | None:
    # Lock order: the seller first, so that receipt numbers have no gaps. `no_key` does not block
    # inserts of rows that refer to the seller.
    list(User.objects.select_for_update(no_key=True).filter(pk=seller_id))
    found = Leg.objects.select_for_update(of=("self",)).select_related("buyer", "seller")
    return found.filter(pk=leg_id).first()


def _record(
    entry: LedgerEntry, after: int, *, what: str, details: str
) -> tuple[Receipt, list[OutboxEntry]]:
    """`after` is the outstanding balance including the entry."""
    seller = entry.leg.seller
    entry.recorded_by = seller
    total = format_amount(entry.amount_cents, entry.leg.currency)
    text = f"{seller.display_name} recorded a {what} of {total}{details}."
    return _store(entry, after, text)


def record_confirmed_entry(entry: LedgerEntry) -> list[OutboxEntry]:
    """Records an entry with an event of a payment provider. It is a fact, so that it is recorded in
    every status of the booking."""
    what = {PAYMENT: "payment", REPAYMENT: "repayment"}.get(entry.kind, "reversal")
    total = format_amount(entry.amount_cents, entry.leg.currency)
    is_less = entry.kind == PAYMENT or (entry.reverses and entry.reverses.kind == REPAYMENT)
    after = get_balance(entry.leg).open_cents + (-1 if is_less else 1) * entry.amount_cents
    return _store(entry, after, f"The payment provider confirmed a {what} of {total}.")[1]


def _store(entry: LedgerEntry, after: int, text: str) -> tuple[Receipt, list[OutboxEntry]]:
    leg, seller = entry.leg, entry.leg.seller
    entry.currency = leg.currency
    entry.recorded_at = timezone.now().replace(microsecond=0)
    entry.save(force_insert=True)
    receipt = _issue_receipt(entry)
    text += f" {format_outstanding(after, leg.currency)} "
    text += f"Receipt {receipt.number} is in the Expenses tab."
    return receipt, record_leg_change(leg, by=seller, key=f"{receipt.id}:issued", text=text)


def _issue_receipt(entry: LedgerEntry) -> Receipt:
    leg, seller = entry.leg, entry.leg.seller
    last = Receipt.objects.filter(seller=seller).aggregate(last=Max("number"))["last"]
    return Receipt.objects.create(
        seller=seller,
        number=(last or 0) + 1,
        buyer=leg.buyer,
        leg=leg,
        entry=entry,
        kind=entry.kind,
        amount_cents=entry.amount_cents,
        currency=entry.currency,
        seller_name=seller.display_name,
        buyer_name=leg.buyer.display_name,
        subject=leg.service,
        issued_at=entry.recorded_at,
        tax=copy_tax_details(entry),
    )


def _repeated(before: LedgerEntry, entry: LedgerEntry) -> tuple[Receipt, list[OutboxEntry]]:
    names = ("leg_id", "kind", "amount_cents", "paid_on", "method", "reverses_id")
    if any(getattr(before, name) != getattr(entry, name) for name in names):
        raise Refusal("CLIENT_ID_REUSED", "This was already recorded as something else.")
    return before.receipt, []
