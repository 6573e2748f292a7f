"""Money that moved, and the receipt for it. This is the interface behind which a payment provider
would stand: whatever says "paid" calls `record_payment`."""

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from accounts.models import OutboxEntry, User
from accounts.refusals import Refusal
from contracts.actions.dossiers import touch_all
from contracts.models import Amendment, LedgerEntry, Leg, Receipt
from contracts.models.money import PAYMENT, REFUND, REPAYMENT
from contracts.money import amount
from contracts.queries import balance_of

DEPOSIT, BALANCE, BACK = "deposit", "balance", "repayment"


@transaction.atomic
def settle(
    seller: User, *, leg_id: str, key: str, what: str, shown: int
) -> tuple[Receipt, list[OutboxEntry]]:
    """The deposit, all that is open, or what is to be given back: as the seller says it moved.
    `shown` is what was open on the page on which they said so."""
    leg = _lock(seller, leg_id)
    key = f"{seller.id}:{key}"
    before = LedgerEntry.objects.filter(key=key).first()
    if before is not None:
        return _repeated(before, leg, what)
    due = balance_of(leg).open_cents
    if due != shown:
        raise Refusal("ACTION_INVALID_STATE", "What is open has changed meanwhile. Look again.")
    cents = {DEPOSIT: leg.deposit_cents, BALANCE: due, BACK: -due}.get(what, 0)
    if cents <= 0 or (what == DEPOSIT and cents > due):
        raise Refusal("ACTION_INVALID_STATE", "That is not an amount that is still open.")
    return _record(leg, seller, key, REPAYMENT if what == BACK else PAYMENT, cents, what)


@transaction.atomic
def record_payment(
    seller: User, *, leg_id: str, key: str, cents: int, note: str
) -> tuple[Receipt, list[OutboxEntry]]:
    """Part of what is open, for whoever knows how much it was."""
    leg = _lock(seller, leg_id)
    key = f"{seller.id}:{key}"
    before = LedgerEntry.objects.filter(key=key).first()
    if before is not None:
        return _repeated(before, leg, note)
    if not 0 < cents <= balance_of(leg).open_cents:
        raise Refusal("ACTION_INVALID_STATE", "That is not an amount that is still open.")
    return _record(leg, seller, key, PAYMENT, cents, note)


def settle_finally(leg: Leg, *, key: str) -> tuple[Receipt | None, list[OutboxEntry]]:
    """What is still open when the work is accepted, in that transaction: the last receipt. None if
    everything was paid before; the caller holds the seller's row and the leg's."""
    due = balance_of(leg).open_cents
    if due <= 0:
        return None, []
    return _record(leg, leg.seller, key, PAYMENT, due, "final")


def add_amendment(
    by: User,
    *,
    leg: Leg,
    kind: str,
    items: list[dict[str, object]],
    cents: int,
    card_id: str | None = None,
) -> Amendment:
    """In the transaction of whatever agreed it, which also touches the dossier."""
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
    # The seller first: receipts are numbered one after the other, and a number that was taken by
    # a transaction which fails is free again. `no_key`, so that nobody else has to wait.
    list(User.objects.select_for_update(no_key=True).filter(pk=seller.pk))
    leg = Leg.objects.select_for_update().filter(pk=leg_id).first()
    if leg is None or seller.id not in leg.parties:
        raise Refusal("THREAD_NOT_FOUND", "There is no such booking.")
    if seller.id != leg.seller_id:
        raise Refusal("ACTION_FORBIDDEN", "The seller records what has been paid.")
    return leg


def _record(
    leg: Leg, seller: User, key: str, kind: str, cents: int, note: str
) -> tuple[Receipt, list[OutboxEntry]]:
    now = timezone.now().replace(microsecond=0)
    entry = LedgerEntry.objects.create(
        leg=leg,
        key=key,
        kind=kind,
        amount_cents=cents,
        currency=leg.currency,
        note=note,
        recorded_by=seller,
        recorded_at=now,
    )
    last = Receipt.objects.filter(seller=seller).aggregate(last=Max("number"))["last"]
    receipt = Receipt.objects.create(
        seller=seller,
        number=(last or 0) + 1,
        buyer=leg.buyer,
        leg=leg,
        entry=entry,
        kind=kind,
        amount_cents=cents,
        currency=leg.currency,
        seller_name=seller.display_name,
        buyer_name=leg.buyer.display_name,
        subject=f"{leg.service}: {note}",
        issued_at=now,
    )
    what = "payment" if kind == PAYMENT else "repayment"
    says = f"{seller.display_name} recorded a {what} of {amount(cents, leg.currency)}. "
    says += f"Receipt {receipt.number} is in the expenses."
    return receipt, touch_all(leg, by=seller, key=f"{receipt.id}:issued", says=says)


def _repeated(entry: LedgerEntry, leg: Leg, note: str) -> tuple[Receipt, list[OutboxEntry]]:
    if (entry.leg_id, entry.note) != (leg.id, note):
        raise Refusal("CLIENT_ID_REUSED", "This was already recorded as something else.")
    return entry.receipt, []
