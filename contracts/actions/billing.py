"""Saves billing details, and copies them to receipts."""

from typing import Any

from accounts.models import User
from contracts.models import BillingDetails, LedgerEntry

WHOLE = 100_00


def save_billing_details(
    user: User, *, name: str, address: str, vat_id: str, tax_rate: int | None
) -> BillingDetails:
    """Receipts that are already issued keep the details of their time."""
    details = BillingDetails(
        user=user, name=name, address=address, vat_id=vat_id, tax_rate=tax_rate
    )
    details.full_clean(validate_unique=False)
    BillingDetails.objects.update_or_create(
        user=user,
        defaults={"name": name, "address": address, "vat_id": vat_id, "tax_rate": tax_rate},
    )
    return details


def delete_billing_details(user: User) -> None:
    BillingDetails.objects.filter(user=user).delete()


def copy_tax_details(entry: LedgerEntry) -> dict[str, Any] | None:
    """The details of both parties at this time; None without any. A reversal has those of the
    entry that it reverses."""
    if entry.reverses is not None:
        tax: dict[str, Any] | None = entry.reverses.receipt.tax
        return tax
    leg = entry.leg
    found = BillingDetails.objects.in_bulk([leg.buyer_id, leg.seller_id])
    if not found:
        return None
    seller, buyer = found.get(leg.seller_id), found.get(leg.buyer_id)
    copied: dict[str, Any] = {"seller": _describe(seller), "buyer": _describe(buyer)}
    if seller is not None and seller.tax_rate is not None:
        net = net_amount(entry.amount_cents, seller.tax_rate)
        copied |= {"rate": seller.tax_rate, "net": net, "tax": entry.amount_cents - net}
    return copied


def net_amount(gross: int, rate: int) -> int:
    """Rounded half up; net and tax always add up to the gross amount."""
    return (2 * gross * WHOLE + WHOLE + rate) // (2 * (WHOLE + rate))


def _describe(details: BillingDetails | None) -> dict[str, str] | None:
    if details is None:
        return None
    return {"name": details.name, "address": details.address, "vat_id": details.vat_id}
