"""Records as one prints them."""

from contracts.documents import pdf
from contracts.fields import format_day
from contracts.models import LedgerEntry, Receipt
from contracts.models.money import METHODS, PAYMENT, REVERSAL
from contracts.money import amount

RECORDED = "The seller recorded this payment. Parley keeps the record and moves no money itself."
REVERSED = (
    "The seller corrected an earlier entry with this one. Both stay on record. Parley moves no "
    "money itself."
)


def receipt_title(found: Receipt) -> str:
    names = {PAYMENT: "Receipt", REVERSAL: "Reversal receipt"}
    return f"{names.get(found.kind, 'Credit note')} {found.number}"


def receipt_foot(found: Receipt) -> str:
    return REVERSED if found.kind == REVERSAL else RECORDED


def receipt_rows(found: Receipt) -> dict[str, str]:
    entry = found.entry
    rows = {
        "Number": f"{found.number} of {found.seller_name}",
        "Issued": f"{found.issued_at:%d %B %Y, %H:%M} UTC",
        "From": found.seller_name,
        "To": found.buyer_name,
        "For": found.subject,
        "Amount": amount(found.amount_cents, found.currency),
    }
    if entry.paid_on:
        rows |= {"Paid on": format_day(entry.paid_on), "Method": METHODS[entry.method]}
    if entry.reverses:
        rows["Reverses"] = f"{receipt_title(entry.reverses.receipt)}, which no longer counts"
    if reversal := find_reversal(entry):
        rows["Reversed"] = f"By {receipt_title(reversal.receipt).lower()}: this no longer counts"
    return rows | {"Reference": found.id}


def find_reversal(entry: LedgerEntry) -> LedgerEntry | None:
    return getattr(entry, "reversed_by", None)


def receipt_pdf(found: Receipt) -> bytes:
    return pdf.receipt(
        title=receipt_title(found),
        number=found.id,
        issued_at=found.issued_at,
        rows=receipt_rows(found),
        foot=receipt_foot(found),
    )
