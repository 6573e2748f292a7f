"""Payment intents and events of a payment provider. Both tables are append-only."""

from django.db import models
from django.db.models import Q

from accounts.models import User
from contracts.currencies import CURRENCIES
from contracts.models.bookings import Leg
from contracts.models.fields import MAX_CENTS, currency, one_of, record_id

PAYMENT_SUCCEEDED, PAYMENT_FAILED = "payment_succeeded", "payment_failed"
REFUND_SUCCEEDED, PAYOUT_PAID = "refund_succeeded", "payout_paid"
DISPUTE_OPENED = "dispute_opened"
# The provider takes the disputed amount from the seller, and returns it if the seller wins.
DISPUTE_WITHDRAWN, DISPUTE_REINSTATED = "dispute_withdrawn", "dispute_reinstated"
EVENT_TYPES = (
    PAYMENT_SUCCEEDED,
    PAYMENT_FAILED,
    REFUND_SUCCEEDED,
    PAYOUT_PAID,
    DISPUTE_OPENED,
    DISPUTE_WITHDRAWN,
    DISPUTE_REINSTATED,
)


class PaymentIntent(models.Model):
    """A payment that a buyer started with a provider. It is paid once an event confirms it."""

    id = record_id("pin")
    leg = models.ForeignKey(Leg, models.PROTECT, related_name="payment_intents")
    key = models.CharField(max_length=80, unique=True)
    provider = models.CharField(max_length=20)
    reference = models.CharField(max_length=80)
    amount_cents = models.BigIntegerField()
    currency = currency()
    created_by = models.ForeignKey(User, models.PROTECT, related_name="payment_intents")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "reference"], name="one_intent_a_reference"
            ),
            models.CheckConstraint(
                condition=Q(amount_cents__gt=0, amount_cents__lte=2 * MAX_CENTS),
                name="an_intent_has_an_amount",
            ),
            one_of("currency", CURRENCIES, "an_intent_has_a_known_currency"),
        ]

    def __str__(self) -> str:
        return f"{self.provider} {self.reference}"


class ProviderEvent(models.Model):
    """An event of a provider, stored once by its id. It may arrive before its intent is stored, so
    it refers to the intent by the provider's id."""

    provider = models.CharField(max_length=20)
    event_id = models.CharField(max_length=80)
    type = models.CharField(max_length=20)
    intent_reference = models.CharField(max_length=80)
    about = models.CharField(max_length=80, blank=True)
    amount_cents = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    occurred_at = models.DateTimeField()
    received_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["provider", "event_id"], name="one_row_an_event"),
            one_of("type", EVENT_TYPES, "an_event_is_of_a_known_type"),
        ]
        indexes = [models.Index(fields=["provider", "intent_reference"], name="events_of_intent")]

    def __str__(self) -> str:
        return f"{self.type} {self.event_id}"
