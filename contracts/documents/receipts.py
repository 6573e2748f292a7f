"""Content of receipts, for the page and the PDF."""

from decimal import Decimal

from contracts.fields import format_day
from contracts.models import LedgerEntry, Receipt
from contracts.models.money import METHOD_LABELS, PAYMENT, REPAYMENT, REVERSAL
from contracts.money import format_amount

RECORDED = "The seller recorded this payment. Parley keeps the record and doesn't move any money."
REVERSED = (
    "The seller corrected an earlier entry with this one. Both stay on record. Parley doesn't move "
    "any money."
)
CONFIRMED = "The payment provider confirmed this."


def receipt_title(found: Receipt) -> str:
    names = {PAYMENT: "Receipt", REVERSAL: "Reversal receipt"}
    return f"{names.get(found.kind, 'Credit note')} {found.number}"


def receipt_foot(found: Receipt) -> str:
    if found.entry.event_id:
        return CONFIRMED
    return REVERSED if found.kind == REVERSAL else RECORDED


def receipt_rows(found: Receipt, locale: str = "") -> dict[str, str]:
    """`locale` is the viewer's; the PDF has none."""
    entry = found.entry
    rows = {
        "Number": f"{found.number}, issued by {found.seller_name}",
        "Issued": f"{found.issued_at:%d %B %Y, %H:%M} UTC",
        **_parties(found),
        **_billing(found),
        "For": found.subject,
        "Amount": format_amount(found.amount_cents, found.currency, locale=locale),
        **_tax(found, locale),
    }
    if entry.paid_on:
        rows |= {"Paid on": format_day(entry.paid_on), "Method": METHOD_LABELS[entry.method]}
    if entry.reverses:
        rows["Reverses"] = f"{receipt_title(entry.reverses.receipt)} (void)"
    if reversal := find_reversal(entry):
        rows["Reversed"] = f"By {receipt_title(reversal.receipt).lower()}"
    return rows | {"Reference": found.id}


def _parties(found: Receipt) -> dict[str, str]:
    if found.kind == REVERSAL:
        return {"Seller": found.seller_name, "Buyer": found.buyer_name}
    if found.kind == REPAYMENT:
        return {"Received by": found.buyer_name, "Paid by": found.seller_name}
    return {"Received by": found.seller_name, "Paid by": found.buyer_name}


def _billing(found: Receipt) -> dict[str, str]:
    """Name, address and VAT ID of the parties who gave them."""
    return {
        f"{role.capitalize()} details": _billing_line(found.tax[role])
        for role in ("seller", "buyer")
        if found.tax and found.tax[role]
    }


def _billing_line(details: dict[str, str]) -> str:
    parts = [details["name"], *details["address"].split("\n")]
    if details["vat_id"]:
        parts.append(f"VAT ID {details['vat_id']}")
    return ", ".join(part.strip().rstrip(",") for part in parts if part.strip())


def _tax(found: Receipt, locale: str) -> dict[str, str]:
    if not found.tax or "rate" not in found.tax:
        return {}
    rate = f"{Decimal(found.tax['rate']).scaleb(-2).normalize():f}"
    return {
        "Net": format_amount(found.tax["net"], found.currency, locale=locale),
        f"Tax ({rate}%)": format_amount(found.tax["tax"], found.currency, locale=locale),
        "Gross": format_amount(found.amount_cents, found.currency, locale=locale),
    }


def find_reversal(entry: LedgerEntry) -> LedgerEntry | None:
    return getattr(entry, "reversed_by", None)


def receipt_pdf(found: Receipt) -> bytes:
    # See contracts/actions/documents.py.
    from contracts.documents import pdf

    return pdf.receipt(
        title=receipt_title(found),
        number=found.id,
        issued_at=found.issued_at,
        rows=receipt_rows(found),
        foot=receipt_foot(found),
    )
