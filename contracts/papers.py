"""Records as one prints them."""

from contracts import pdf
from contracts.models import Receipt
from contracts.money import amount


def receipt_title(found: Receipt) -> str:
    return f"Receipt {found.number}" if found.kind == "payment" else f"Credit note {found.number}"


def receipt_rows(found: Receipt) -> dict[str, str]:
    return {
        "Number": f"{found.number} of {found.seller_name}",
        "Issued": f"{found.issued_at:%d %B %Y, %H:%M} UTC",
        "From": found.seller_name,
        "To": found.buyer_name,
        "For": found.subject,
        "Amount": amount(found.amount_cents, found.currency),
        "Reference": found.id,
    }


def receipt_pdf(found: Receipt) -> bytes:
    return pdf.receipt(
        title=receipt_title(found),
        number=found.id,
        issued_at=found.issued_at,
        rows=receipt_rows(found),
    )
