"""The tabs that are derived from SQL records.

A thread with several sellers has one fragment for all of them. It contains no amounts and no
checksums, because the terms are private to each buyer and seller.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from contracts.cards.types import TYPES, proofs
from contracts.documents.receipts import find_reversal
from contracts.instalments import DueInstalment
from contracts.models import (
    Card,
    ContractVersion,
    DeliverableManifest,
    Dossier,
    Leg,
    Offer,
    Receipt,
)
from contracts.models.bookings import PENDING
from contracts.models.documents import VOID
from contracts.next_step import BookingRecords, find_payment_step, read_booking
from contracts.queries import find_dossier, get_balance, list_legs
from contracts.status import SIGN, is_allowed
from files.models import TabUse
from files.tab_uses import list_in_tab
from projects.panel.overview import make_overview
from projects.panel.trim import MAX_LISTED, count_more, trim
from threads.dynamodb import keys
from threads.models.tab import RECORD_TABS
from threads.rendering.attachments import as_in_tab, describe_in_tab
from threads.sending import Binding

MAX_CLOSED = 10
MAX_APPROVED = 5
# The tab that holds the proofs.
PROOFS = "files"

Snapshot = dict[str, Any]


@dataclass
class ThreadRecords:
    """The SQL records of a thread, read once."""

    dossier: Dossier
    legs: list[Leg]
    # Offers without a card.
    offers: list[Offer]
    proofs: list[TabUse]
    cards: list[Card] = field(default_factory=list)
    # Approved rounds of proofs.
    approved: list[Card] = field(default_factory=list)
    # Open cards that are not among `cards`.
    more_cards: int = 0
    bookings: list[BookingRecords] = field(default_factory=list)

    @property
    def sellers(self) -> set[str]:
        return {leg.seller_id for leg in self.legs}

    @property
    def is_shared(self) -> bool:
        return len(self.sellers) > 1

    @property
    def binding(self) -> Binding | None:
        if not self.dossier.is_bound:
            return None
        people = dict.fromkeys(user_id for leg in self.legs for user_id in leg.parties)
        return Binding(list(people), self.dossier.leg_id, self.dossier.group_id)


@transaction.atomic
def read_records(thread_id: str) -> ThreadRecords | None:
    dossier = find_dossier(thread_id)
    if dossier is None:
        return None
    # From before offers had cards.
    offers = Offer.objects.filter(thread_id=thread_id, card__isnull=True)
    offers = offers.order_by("-created_at", "-id")
    cards = Card.objects.filter(thread_id=thread_id).order_by("-created_at", "-id")
    closed = cards.filter(is_open=False)[:MAX_CLOSED]
    is_open = cards.filter(is_open=True)
    legs = list(list_legs(dossier))
    return ThreadRecords(
        dossier,
        legs,
        list(offers[: MAX_CLOSED * 2]),
        list_in_tab(PROOFS, thread_id=thread_id),
        [*is_open[:MAX_LISTED], *closed],
        list(cards.filter(type=proofs.TYPE.name, state=proofs.APPROVED)[:MAX_APPROVED]),
        max(0, is_open.count() - MAX_LISTED),
        [read_booking(leg, at=dossier.changed_at) for leg in legs],
    )


def make_snapshots(records: ThreadRecords) -> dict[str, Snapshot]:
    """Makes all tabs; before a booking there is only the actions tab."""
    if not records.dossier.is_bound:
        return {"actions": trim(_actions(records))}
    return {tab: trim(MAKERS[tab](records)) for tab in RECORD_TABS}


def _newest(records: QuerySet[Any], *order: str) -> tuple[list[Any], int]:
    """The newest records, oldest first, and the number of older ones."""
    newest = list(records.order_by(*(f"-{name}" for name in order))[:MAX_LISTED])
    return newest[::-1], max(0, records.count() - MAX_LISTED)


def _overview(records: ThreadRecords) -> Snapshot:
    group_id = records.dossier.group_id if records.is_shared else ""
    return make_overview(records.bookings, group_id=group_id or "")


def _docs(records: ThreadRecords) -> Snapshot:
    return {"documents": [_document(leg, records) for leg in records.legs]}


def _document(leg: Leg, records: ThreadRecords) -> Snapshot:
    versions = leg.contract.versions.prefetch_related("signatures").order_by("-number")
    newest, *older = versions[: MAX_LISTED + 1]
    shown: Snapshot = {
        "leg": leg.id,
        "service": leg.service,
        "buyer": leg.buyer_id,
        "seller": leg.seller_id,
        "status": newest.status,
        "legStatus": leg.status,
        "signatures": [_signature(each) for each in newest.signatures.order_by("id")],
    }
    if records.is_shared:
        return shown
    return shown | {
        "id": leg.contract.id,
        "version": newest.number,
        "sha256": newest.signed_sha256 or newest.sha256,
        "issuedAt": keys.iso(newest.issued_at),
        "startsAt": keys.iso(leg.starts_at),
        "endsAt": keys.iso(leg.ends_at),
        "place": leg.place,
        "earlier": [each.number for each in older],
    }


def _signature(signature: Any) -> Snapshot:
    return {"user": signature.user_id, "at": keys.iso(signature.signed_at)}


def _expenses(records: ThreadRecords) -> Snapshot:
    if records.is_shared:
        return {"shared": True, "group": records.dossier.group_id}
    legs = [_account(leg, records.dossier.changed_at) for leg in records.legs]
    sums: dict[str, Snapshot] = {}
    for leg in legs:
        total = sums.setdefault(leg["currency"], {"total": 0, "paid": 0, "due": 0, "open": 0})
        for name in total:
            total[name] += leg[name]
    return {"legs": legs, "totals": [{"currency": code, **sums[code]} for code in sorted(sums)]}


def _account(leg: Leg, at: datetime) -> Snapshot:
    """What is due is computed for the time of the last change, so that the snapshot depends on the
    records only. A reminder on the due date is a change, too."""
    balance = get_balance(leg, at=at)
    amendments, more_amendments = _newest(leg.amendments.all(), "made_at", "id")
    receipts, more_receipts = _newest(
        leg.receipts.select_related("entry__reverses__receipt", "entry__reversed_by__receipt"),
        "number",
    )
    shown: Snapshot = {
        "leg": leg.id,
        "service": leg.service,
        "seller": leg.seller_id,
        "currency": leg.currency,
        "price": leg.price_cents,
        "deposit": leg.deposit_cents,
        "amendments": [
            {"id": each.id, "kind": each.kind, "cents": each.amount_cents, "items": each.items}
            for each in amendments
        ],
        "receipts": [_receipt(each) for each in receipts],
        "status": leg.status,
        "total": balance.total_cents,
        "paid": balance.paid_cents,
        "due": balance.due_cents,
        "open": balance.open_cents,
    }
    if leg.plan is not None:
        shown["plan"] = [_instalment(each) for each in balance.instalments]
    count_more(shown, "amendments", more_amendments)
    count_more(shown, "receipts", more_receipts)
    return shown


def _instalment(part: DueInstalment) -> Snapshot:
    return {
        "cents": part.cents,
        "paid": part.paid_cents,
        "due": part.due,
        "dueOn": part.due_on.isoformat() if part.due_on else None,
    }


def _receipt(receipt: Receipt) -> Snapshot:
    entry = receipt.entry
    shown: Snapshot = {
        "id": receipt.id,
        "number": receipt.number,
        "kind": receipt.kind,
        "cents": receipt.amount_cents,
        "at": keys.iso(receipt.issued_at),
        "subject": receipt.subject,
    }
    if entry.paid_on:
        shown |= {"paidOn": entry.paid_on.isoformat(), "method": entry.method}
    if entry.reverses:
        shown |= {"reverses": entry.reverses.receipt.number, "reversesKind": entry.reverses.kind}
    if reversal := find_reversal(entry):
        shown["reversedBy"] = reversal.receipt.number
    return shown


def _files(records: ThreadRecords) -> Snapshot:
    finals = DeliverableManifest.objects.filter(leg__in=records.legs)
    manifests, more = _newest(finals, "made_at", "id")
    shown: Snapshot = {
        "proofs": [
            describe_in_tab(each.file) | {"by": each.file.owner_id, "at": keys.iso(each.created_at)}
            for each in records.proofs
        ],
        "manifests": [
            {
                "id": each.id,
                "leg": each.leg_id,
                "title": each.title,
                "by": each.made_by_id,
                "at": keys.iso(each.made_at),
                "count": len(each.entries),
                "bytes": sum(entry["size"] for entry in each.entries),
            }
            for each in manifests
        ],
        "sellers": sorted(records.sellers),
    }
    count_more(shown, "manifests", more)
    if records.approved:
        shown["approved"] = [_approved(each) for each in records.approved]
    return shown


def _approved(card: Card) -> Snapshot:
    """The selected images, or all of them if none was selected."""
    chosen, files = card.payload["chosen"], card.payload["files"]
    last = card.steps.last()
    assert last is not None
    return {
        "card": card.id,
        "service": card.payload["service"],
        "by": last.by_id,
        "at": keys.iso(last.at),
        "count": len(files),
        "chosen": len(chosen),
        "pictures": [as_in_tab(file) for file in files if file["id"] in chosen or not chosen],
    }


def _actions(records: ThreadRecords) -> Snapshot:
    offers = [_offer(each) for each in records.offers]
    is_open = [each for each in offers if each["status"] == PENDING]
    closed = [each for each in offers if each["status"] != PENDING]
    signing = [each for leg in records.legs for each in _to_sign(leg, records)]
    shown: Snapshot = {
        "offers": is_open,
        "signing": signing,
        "closed": closed[:MAX_CLOSED],
        # Card types that only a newer version knows are left to that version.
        "cards": [_card(each) for each in records.cards if each.type in TYPES],
    }
    if not records.is_shared and (payments := _payments(records.bookings)):
        shown["payments"] = payments
    count_more(shown, "cards", records.more_cards)
    return shown


def _card(card: Card) -> Snapshot:
    last = card.steps.last()
    return {
        "id": card.id,
        "type": card.type,
        "what": TYPES[card.type].summary(card.payload),
        "state": card.state,
        "isOpen": card.is_open,
        "by": card.proposed_by_id,
        "waitsFor": card.waits_for,
        "dueAt": keys.iso(card.due_at) if card.due_at else None,
        "at": keys.iso(last.at if last else card.created_at),
    }


def _offer(offer: Offer) -> Snapshot:
    return {
        "id": offer.id,
        "title": offer.title,
        "cents": sum(leg["price_cents"] for leg in offer.terms),
        "currency": offer.currency,
        "status": offer.status,
        "by": offer.proposed_by_id,
        "waitsFor": offer.answers,
        "isChange": offer.changes_id is not None,
        "at": keys.iso(offer.answered_at or offer.created_at),
    }


def _payments(bookings: list[BookingRecords]) -> list[Snapshot]:
    """Payments and repayments that are due."""
    steps = [(each.leg, find_payment_step(each.leg, each.balance)) for each in bookings]
    return [
        {
            "leg": leg.id,
            "service": leg.service,
            "kind": step.kind,
            "due": step.cents,
            "currency": leg.currency,
            "seller": leg.seller_id,
            "waitsFor": user_id,
        }
        for leg, step in steps
        if step
        for user_id in step.user_ids
    ]


def _to_sign(leg: Leg, records: ThreadRecords) -> list[Snapshot]:
    version: ContractVersion | None = leg.contract.versions.exclude(status=VOID).first()
    if version is None or not is_allowed(leg.status, SIGN):
        return []
    signed = set(version.signatures.values_list("user_id", flat=True))
    link = "" if records.is_shared else leg.contract.id
    return [
        {"document": link, "service": leg.service, "version": version.number, "waitsFor": user_id}
        for user_id in leg.parties
        if user_id not in signed
    ]


MAKERS: dict[str, Callable[[ThreadRecords], Snapshot]] = {
    "overview": _overview,
    "files": _files,
    "docs": _docs,
    "expenses": _expenses,
    "actions": _actions,
}
