"""Stores events of a payment provider and records what they confirm.

Events arrive more than once and in any order. Each is stored once by its id; an event whose
predecessor is missing, such as a refund before its payment, is recorded when that arrives.
"""

import hashlib
from collections.abc import Iterable

import structlog
from django.db import transaction
from django.db.models import QuerySet

from accounts.models import User
from contracts.actions.payments import lock_leg_of_seller, record_confirmed_entry
from contracts.ledger.provider import Notification, PaymentProvider
from contracts.models import LedgerEntry, PaymentIntent, ProviderEvent
from contracts.models.money import ONLINE, PAYMENT, REPAYMENT, REVERSAL
from contracts.models.provider import (
    DISPUTE_REINSTATED,
    DISPUTE_WITHDRAWN,
    PAYMENT_SUCCEEDED,
    REFUND_SUCCEEDED,
)
from contracts.queries import access_leg, get_balance
from contracts.refusals import not_found
from core.outbox.models import OutboxEntry
from core.refusals import Refusal
from core.time_zones import local_time, zone_of

log = structlog.get_logger(__name__)

# Events that move money between the two parties, each after those that it depends on.
MONEY_EVENTS = (PAYMENT_SUCCEEDED, REFUND_SUCCEEDED, DISPUTE_WITHDRAWN, DISPUTE_REINSTATED)
KINDS = {
    PAYMENT_SUCCEEDED: PAYMENT,
    REFUND_SUCCEEDED: REPAYMENT,
    DISPUTE_WITHDRAWN: REPAYMENT,
    DISPUTE_REINSTATED: REVERSAL,
}


def start_payment(
    buyer: User, provider: PaymentProvider, *, leg_id: str, cents: int, key: str
) -> tuple[PaymentIntent, list[OutboxEntry]]:
    """Prepares an online payment. Nothing counts as paid until the provider confirms it."""
    leg = access_leg(buyer, leg_id)
    if buyer.id != leg.buyer_id:
        raise not_found("booking")
    intent_key = f"{buyer.id}:{key}"
    before = PaymentIntent.objects.filter(key=intent_key).first()
    if before is None:
        if not 0 < cents <= get_balance(leg).open_cents:
            raise Refusal("PAYMENT_INVALID", "That's more than is outstanding.")
        reference = provider.create_intent(
            key=intent_key, leg_id=leg.id, cents=cents, currency=leg.currency
        )
        fields = {"provider": provider.name, "reference": reference, "created_by": buyer}
        before, _ = PaymentIntent.objects.get_or_create(
            key=intent_key,
            defaults={"leg": leg, "amount_cents": cents, "currency": leg.currency, **fields},
        )
    if (before.leg_id, before.amount_cents) != (leg.id, cents):
        raise Refusal("CLIENT_ID_REUSED", "This was already started with other details.")
    # In a transaction of its own: either this one or that of an event sees both rows.
    return before, apply_events(before.provider, before.reference)


def receive_event(provider: str, given: Notification) -> list[OutboxEntry]:
    """Repeating it is safe, and applies what an earlier attempt left undone."""
    _store(provider, given)
    return apply_events(provider, given.intent)


def _store(provider: str, given: Notification) -> None:
    fields = {
        "type": given.type,
        "intent_reference": given.intent,
        "about": given.about,
        "amount_cents": given.cents,
        "currency": given.currency,
        "occurred_at": given.occurred_at,
    }
    event, _ = ProviderEvent.objects.get_or_create(
        provider=provider, event_id=given.id, defaults=fields
    )
    if any(getattr(event, name) != value for name, value in fields.items()):
        raise Refusal("CLIENT_ID_REUSED", "This event was already received with other content.")


@transaction.atomic
def apply_events(provider: str, reference: str) -> list[OutboxEntry]:
    """Records all events of an intent that can be recorded now."""
    intent = PaymentIntent.objects.filter(provider=provider, reference=reference).first()
    if intent is None:
        return []
    leg = lock_leg_of_seller(intent.leg_id)
    entries: list[OutboxEntry] = []
    for event in _in_order(_waiting(intent)):
        entry = _make_entry(intent, event)
        if entry is None:
            continue
        entry.leg = leg
        entries += record_confirmed_entry(entry)
    return entries


def _waiting(intent: PaymentIntent) -> QuerySet[ProviderEvent]:
    return ProviderEvent.objects.filter(
        provider=intent.provider,
        intent_reference=intent.reference,
        type__in=MONEY_EVENTS,
        ledger_entry__isnull=True,
    )


def _in_order(events: Iterable[ProviderEvent]) -> list[ProviderEvent]:
    return sorted(
        events, key=lambda each: (MONEY_EVENTS.index(each.type), each.occurred_at, each.event_id)
    )


def _make_entry(intent: PaymentIntent, event: ProviderEvent) -> LedgerEntry | None:
    """None if it is recorded already, has to wait, or contradicts the intent."""
    if event.currency != intent.currency:
        log.warning("provider_event_rejected", event_id=event.event_id, reason="currency")
        return None
    entry = LedgerEntry(
        leg_id=intent.leg_id,
        key=_key(intent, event.type, event.about),
        kind=KINDS[event.type],
        amount_cents=event.amount_cents,
        event=event,
    )
    if LedgerEntry.objects.filter(key=entry.key).exists():
        return None
    if event.type == DISPUTE_REINSTATED:
        return _reverse_withdrawal(intent, event, entry)
    if event.amount_cents > _limit(intent, event.type):
        log.warning("provider_event_waits", event_id=event.event_id, reason="amount")
        return None
    zone = zone_of(intent.leg.time_zone)
    entry.method, entry.paid_on = ONLINE, local_time(event.occurred_at, zone).date()
    return entry


def _key(intent: PaymentIntent, type_name: str, about: str) -> str:
    """By what the event is about, so that a second event about it is not recorded again."""
    subject = hashlib.sha256(about.encode()).hexdigest()[:24]
    return f"{intent.id}:{type_name}:{subject}"


def _limit(intent: PaymentIntent, type_name: str) -> int:
    """A payment is at most the intent; what is returned is at most what was paid with it."""
    if type_name == PAYMENT_SUCCEEDED:
        return intent.amount_cents
    entries = LedgerEntry.objects.filter(
        event__provider=intent.provider, event__intent_reference=intent.reference
    )
    paid = sum(each.amount_cents for each in entries if each.kind == PAYMENT)
    returned = sum(each.amount_cents for each in entries if each.kind == REPAYMENT)
    reinstated = sum(each.amount_cents for each in entries if each.kind == REVERSAL)
    return paid - returned + reinstated


def _reverse_withdrawal(
    intent: PaymentIntent, event: ProviderEvent, entry: LedgerEntry
) -> LedgerEntry | None:
    key = _key(intent, DISPUTE_WITHDRAWN, event.about)
    entry.reverses = LedgerEntry.objects.filter(key=key, amount_cents=event.amount_cents).first()
    return entry if entry.reverses else None
