"""Contractual records. Database triggers make some tables append-only: see triggers.py."""

from contracts.models.billing import BillingDetails
from contracts.models.bookings import BookingGroup, Dossier, Leg, Offer
from contracts.models.cards import Card, CardStep, ClockStop
from contracts.models.documents import (
    ContractDocument,
    ContractVersion,
    DeliverableManifest,
    Signature,
)
from contracts.models.money import Amendment, LedgerEntry, PaymentReminder, Receipt
from contracts.models.provider import PaymentIntent, ProviderEvent

__all__ = [
    "Amendment",
    "BillingDetails",
    "BookingGroup",
    "Card",
    "CardStep",
    "ClockStop",
    "ContractDocument",
    "ContractVersion",
    "DeliverableManifest",
    "Dossier",
    "LedgerEntry",
    "Leg",
    "Offer",
    "PaymentIntent",
    "PaymentReminder",
    "ProviderEvent",
    "Receipt",
    "Signature",
]
