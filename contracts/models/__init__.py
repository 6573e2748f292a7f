"""Contractual truth. What must not change is protected in the database: see protection.py."""

from contracts.models.bookings import BookingGroup, Dossier, Leg, Offer
from contracts.models.documents import (
    ContractDocument,
    ContractVersion,
    DeliverableManifest,
    Signature,
)
from contracts.models.money import Amendment, LedgerEntry, Receipt

__all__ = [
    "Amendment",
    "BookingGroup",
    "ContractDocument",
    "ContractVersion",
    "DeliverableManifest",
    "Dossier",
    "LedgerEntry",
    "Leg",
    "Offer",
    "Receipt",
    "Signature",
]
