"""The records of a case's booking: price, contract, payments, deliveries and cards."""

from dataclasses import dataclass
from typing import Any

from contracts.cards.types import TYPES
from contracts.models import Card, ContractVersion, Dossier, Leg
from contracts.money import format_amount
from contracts.queries import format_outstanding, get_balance, list_legs
from moderation.models import Case

MAX_LEGS = 20
MAX_ROWS = 100
ENTRY_LABELS = {"payment": "Payment", "repayment": "Repayment", "reversal": "Reversal"}


@dataclass(frozen=True)
class CaseRecords:
    leg: Leg
    sums: list[tuple[str, str]]
    outstanding: str
    versions: list[dict[str, Any]]
    payments: list[dict[str, Any]]
    deliveries: list[dict[str, Any]]


def has_records(case: Case) -> bool:
    dossier = Dossier.objects.filter(pk=case.thread_id).first() if case.thread_id else None
    return dossier is not None and dossier.is_bound


def list_records(case: Case) -> list[CaseRecords]:
    """The caller has recorded that staff read them."""
    dossier = Dossier.objects.select_related("leg", "group").filter(pk=case.thread_id).first()
    if dossier is None:
        return []
    return [_records_of(leg) for leg in list_legs(dossier)[:MAX_LEGS]]


def _records_of(leg: Leg) -> CaseRecords:
    balance = get_balance(leg)
    sums = [
        ("Price", leg.price_cents),
        ("Changes", balance.amended_cents),
        ("Paid", balance.paid_cents),
        ("Deposit", leg.deposit_cents),
    ]
    return CaseRecords(
        leg,
        [(label, format_amount(cents, leg.currency)) for label, cents in sums],
        format_outstanding(balance.open_cents, leg.currency),
        _versions(leg),
        _payments(leg),
        _deliveries(leg),
    )


def _versions(leg: Leg) -> list[dict[str, Any]]:
    versions = ContractVersion.objects.filter(document__leg=leg).defer("pdf", "signed_pdf")
    found = versions.prefetch_related("signatures").order_by("number")[:MAX_ROWS]
    return [
        {
            "number": version.number,
            "clauses": version.clauses,
            "status": version.status.replace("_", " "),
            "signatures": [
                f"{each.legal_name}, {each.signed_at:%d %b %Y}" for each in version.signatures.all()
            ],
        }
        for version in found
    ]


def _payments(leg: Leg) -> list[dict[str, Any]]:
    entries = leg.ledger.select_related("recorded_by", "receipt").order_by("recorded_at", "pk")
    return [
        {
            "label": ENTRY_LABELS[entry.kind],
            "amount": format_amount(entry.amount_cents, entry.currency),
            "method": entry.method.replace("_", " "),
            "paid_on": entry.paid_on or entry.recorded_at.date(),
            "by": entry.recorded_by.display_name if entry.recorded_by else "payment provider",
            "receipt": entry.receipt.number if hasattr(entry, "receipt") else None,
        }
        for entry in entries[:MAX_ROWS]
    ]


def _deliveries(leg: Leg) -> list[dict[str, Any]]:
    manifests = leg.manifests.order_by("made_at")[:MAX_ROWS]
    return [{"title": each.title, "at": each.made_at} for each in manifests]


def list_thread_cards(case: Case) -> list[dict[str, Any]]:
    """All cards of the thread, with their state: what was proposed and answered."""
    cards = Card.objects.filter(thread_id=case.thread_id, type__in=TYPES)
    found = cards.select_related("proposed_by").order_by("created_at")[:MAX_ROWS]
    return [
        {
            "label": TYPES[card.type].label,
            "what": TYPES[card.type].summary(card.payload),
            "state": card.state.replace("_", " "),
            "by": card.proposed_by.display_name,
            "at": card.created_at,
        }
        for card in found
    ]
