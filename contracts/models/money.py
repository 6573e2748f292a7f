"""Amendments, ledger entries and receipts. All tables are append-only."""

from django.db import models
from django.db.models import Q

from accounts.models import User
from contracts.currencies import CURRENCIES
from contracts.models.bookings import Leg
from contracts.models.fields import MAX_CENTS, currency, one_of, record_id
from contracts.models.provider import ProviderEvent

EXTRAS, OVERTIME, EXPENSE, REFUND = "extras", "overtime", "expense", "refund"
AMENDMENT_KINDS = (EXTRAS, OVERTIME, EXPENSE, REFUND)
PAYMENT, REPAYMENT, REVERSAL = "payment", "repayment", "reversal"
ENTRY_KINDS = (PAYMENT, REPAYMENT, REVERSAL)
DUE, OVERDUE = "due", "overdue"
REMINDER_KINDS = (DUE, OVERDUE)
# Payment methods. Entries of earlier versions have none.
METHODS = {
    "bank_transfer": "Bank transfer",
    "card": "Card",
    "cash": "Cash",
    "other": "Other",
}
# Only for entries that a payment provider confirmed.
ONLINE = "online"
METHOD_LABELS = METHODS | {ONLINE: "Online payment"}


class Amendment(models.Model):
    """An agreed addition to the price, or a refund, which is negative."""

    id = record_id("amd")
    leg = models.ForeignKey(Leg, models.PROTECT, related_name="amendments")
    kind = models.CharField(max_length=10)
    items = models.JSONField()
    amount_cents = models.BigIntegerField()
    currency = currency()
    # The card that agreed it; at most one amendment per card.
    card_id = models.CharField(max_length=31, unique=True, null=True, blank=True)
    made_by = models.ForeignKey(User, models.PROTECT, related_name="amendments")
    made_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(kind=REFUND, amount_cents__lt=0, amount_cents__gte=-MAX_CENTS)
                | Q(~Q(kind=REFUND), amount_cents__gt=0, amount_cents__lte=MAX_CENTS),
                name="only_refunds_are_below_zero",
            ),
            one_of("kind", AMENDMENT_KINDS, "an_amendment_is_of_a_known_kind"),
            one_of("currency", CURRENCIES, "an_amendment_has_a_known_currency"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.amount_cents} {self.currency}"


class LedgerEntry(models.Model):
    """A payment or repayment, or the reversal of an entry: recorded by the seller, or confirmed by
    an event of a payment provider."""

    leg = models.ForeignKey(Leg, models.PROTECT, related_name="ledger")
    key = models.CharField(max_length=80, unique=True)
    kind = models.CharField(max_length=10)
    amount_cents = models.BigIntegerField()
    currency = currency()
    note = models.CharField(max_length=120, blank=True)
    method = models.CharField(max_length=20, blank=True, default="")
    paid_on = models.DateField(null=True, blank=True)
    # One to one, so that an entry is reversed at most once.
    reverses = models.OneToOneField(
        "self", models.PROTECT, null=True, blank=True, related_name="reversed_by"
    )
    recorded_by = models.ForeignKey(
        User, models.PROTECT, null=True, blank=True, related_name="ledger_entries"
    )
    # One to one, so that an event is recorded at most once.
    event = models.OneToOneField(
        ProviderEvent, models.PROTECT, null=True, blank=True, related_name="ledger_entry"
    )
    recorded_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "ledger entries"
        constraints = [
            models.CheckConstraint(
                condition=Q(amount_cents__gt=0, amount_cents__lte=2 * MAX_CENTS),
                name="an_entry_moves_something",
            ),
            models.CheckConstraint(
                condition=Q(kind=REVERSAL, reverses__isnull=False, method="", paid_on__isnull=True)
                | Q(~Q(kind=REVERSAL), reverses__isnull=True),
                name="only_reversals_reverse",
            ),
            models.CheckConstraint(
                condition=Q(method="", paid_on__isnull=True)
                | Q(~Q(method=""), paid_on__isnull=False),
                name="a_method_has_a_date",
            ),
            models.CheckConstraint(
                condition=Q(recorded_by__isnull=False, event__isnull=True)
                | Q(recorded_by__isnull=True, event__isnull=False),
                name="an_entry_was_recorded_or_confirmed",
            ),
            models.CheckConstraint(
                condition=~Q(method=ONLINE) | Q(event__isnull=False),
                name="only_confirmed_entries_are_online",
            ),
            one_of("method", ("", *METHOD_LABELS), "an_entry_has_a_known_method"),
            one_of("kind", ENTRY_KINDS, "an_entry_is_of_a_known_kind"),
            one_of("currency", CURRENCIES, "an_entry_has_a_known_currency"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.amount_cents} {self.currency}"


class PaymentReminder(models.Model):
    """A reminder that was sent to a thread; at most one of each kind for an instalment."""

    leg = models.ForeignKey(Leg, models.PROTECT, related_name="payment_reminders")
    kind = models.CharField(max_length=10)
    # The due date and number of the instalment.
    instalment = models.CharField(max_length=20)
    sent_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["leg", "kind", "instalment"], name="one_reminder_of_each_kind"
            ),
            one_of("kind", REMINDER_KINDS, "a_reminder_is_of_a_known_kind"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.instalment}"


class Receipt(models.Model):
    """The receipt of an entry, numbered per seller without gaps. Names are those of the time."""

    id = record_id("rcp")
    seller = models.ForeignKey(User, models.PROTECT, related_name="receipts_issued")
    number = models.PositiveIntegerField()
    buyer = models.ForeignKey(User, models.PROTECT, related_name="receipts_received")
    leg = models.ForeignKey(Leg, models.PROTECT, related_name="receipts")
    entry = models.OneToOneField(LedgerEntry, models.PROTECT, related_name="receipt")
    kind = models.CharField(max_length=10)
    amount_cents = models.BigIntegerField()
    currency = currency()
    seller_name = models.CharField(max_length=60)
    buyer_name = models.CharField(max_length=60)
    subject = models.CharField(max_length=250)
    issued_at = models.DateTimeField()
    # Billing details of both parties at that time, with net amount and tax. See actions/billing.py.
    tax = models.JSONField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["seller", "number"], name="receipts_have_numbers"),
            models.CheckConstraint(condition=Q(number__gte=1), name="receipts_count_from_one"),
            models.CheckConstraint(condition=Q(amount_cents__gt=0), name="a_receipt_is_of_money"),
            one_of("kind", ENTRY_KINDS, "a_receipt_is_of_a_known_kind"),
            one_of("currency", CURRENCIES, "a_receipt_has_a_known_currency"),
        ]

    def __str__(self) -> str:
        return f"Receipt {self.number}"
