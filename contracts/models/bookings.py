"""Offers, the legs that accepted offers create, and groups of legs."""

from django.db import models
from django.db.models import F, Q

from accounts.models import User
from contracts.currencies import CURRENCIES
from contracts.models.fields import MAX_CENTS, currency, one_of, record_id, thread

PENDING, ACCEPTED, DECLINED, WITHDRAWN = "pending", "accepted", "declined", "withdrawn"
# Replaced by another offer of the same negotiation.
COUNTERED = "countered"
EXPIRED = "expired"
# Closed because another offer for the same work was accepted.
SUPERSEDED = "superseded"
OFFER_STATES = (PENDING, ACCEPTED, DECLINED, WITHDRAWN, COUNTERED, EXPIRED, SUPERSEDED)
# States that no user chose, so that they may have no author.
CLOSED_BY_SYSTEM = (EXPIRED, SUPERSEDED)
BOOKED, COMPLETED, CANCELLED, ON_HOLD = "booked", "completed", "cancelled", "on_hold"
LEG_STATES = (BOOKED, COMPLETED, CANCELLED, ON_HOLD)
FLEXIBLE, MODERATE, STRICT = "flexible", "moderate", "strict"
CANCELLATION = {
    FLEXIBLE: "Either side can cancel free of charge until 24 hours before the start. "
    "After that the deposit is kept.",
    MODERATE: "Either side can cancel free of charge until 7 days before the start. "
    "After that the deposit is kept; within 24 hours half of the price is due.",
    STRICT: "The deposit is not returned. Within 7 days of the start the full price is due.",
}


class BookingGroup(models.Model):
    """Legs of several sellers that are booked together, with a shared thread."""

    id = record_id("lbg")
    title = models.CharField(max_length=120)
    buyer = models.ForeignKey(User, models.PROTECT, related_name="booking_groups")
    thread_id = models.CharField(max_length=31, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.title


class Offer(models.Model):
    """Proposed terms for one or several new legs, or new terms for an existing leg.

    Its card (`card`) is what users answer; `status` is changed only by the card's transitions.
    """

    id = record_id("ofr")
    thread_id = thread()
    # The client's idempotency key.
    key = models.CharField(max_length=64)
    proposed_by = models.ForeignKey(User, models.PROTECT, related_name="offers_made")
    buyer = models.ForeignKey(User, models.PROTECT, related_name="offers_to_buy")
    seller = models.ForeignKey(User, models.PROTECT, related_name="offers_to_sell")
    title = models.CharField(max_length=120)
    currency = currency()
    terms = models.JSONField()
    changes = models.ForeignKey(
        "Leg", models.PROTECT, null=True, blank=True, related_name="proposed_changes"
    )
    # Null for offers from before they expired.
    valid_until = models.DateTimeField(null=True, blank=True)
    status = models.CharField(max_length=10, default=PENDING)
    created_at = models.DateTimeField(auto_now_add=True)
    answered_by = models.ForeignKey(
        User, models.PROTECT, null=True, blank=True, related_name="offers_answered"
    )
    answered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["proposed_by", "key"], name="one_offer_an_attempt"),
            models.CheckConstraint(
                condition=~Q(buyer=F("seller")), name="an_offer_is_between_two_people"
            ),
            models.CheckConstraint(
                condition=Q(proposed_by=F("buyer")) | Q(proposed_by=F("seller")),
                name="an_offer_is_made_by_one_of_them",
            ),
            models.CheckConstraint(
                condition=Q(status=PENDING, answered_at__isnull=True, answered_by__isnull=True)
                | Q(
                    ~Q(status__in=(PENDING, *CLOSED_BY_SYSTEM)),
                    answered_at__isnull=False,
                    answered_by__isnull=False,
                )
                | Q(status__in=CLOSED_BY_SYSTEM, answered_at__isnull=False),
                name="an_answer_has_a_time_and_a_person",
            ),
            one_of("status", OFFER_STATES, "an_offer_is_in_a_known_state"),
            one_of("currency", CURRENCIES, "an_offer_has_a_known_currency"),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def answers(self) -> str:
        """The id of the user who has to answer."""
        return self.seller_id if self.proposed_by_id == self.buyer_id else self.buyer_id


class Leg(models.Model):
    """One seller's part of a booking, with the agreed terms."""

    id = record_id("leg")
    offer = models.ForeignKey(Offer, models.PROTECT, related_name="legs")
    group = models.ForeignKey(
        BookingGroup, models.PROTECT, null=True, blank=True, related_name="legs"
    )
    thread_id = thread()
    buyer = models.ForeignKey(User, models.PROTECT, related_name="legs_bought")
    seller = models.ForeignKey(User, models.PROTECT, related_name="legs_sold")
    service = models.CharField(max_length=120)
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    time_zone = models.CharField(max_length=64)
    place = models.CharField(max_length=200)
    price_cents = models.BigIntegerField()
    deposit_cents = models.BigIntegerField()
    # See contracts/plans.py. None: the deposit when signed, the rest when completed.
    plan = models.JSONField(null=True, blank=True)
    currency = currency()
    cancellation = models.CharField(max_length=10)
    status = models.CharField(max_length=10, default=BOOKED)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(ends_at__gt=F("starts_at")), name="a_leg_ends_later"
            ),
            models.CheckConstraint(
                condition=Q(price_cents__gte=0, price_cents__lte=MAX_CENTS),
                name="a_leg_has_a_price",
            ),
            models.CheckConstraint(
                condition=Q(deposit_cents__gte=0, deposit_cents__lte=F("price_cents")),
                name="a_deposit_is_part_of_the_price",
            ),
            models.CheckConstraint(
                condition=~Q(buyer=F("seller")), name="a_leg_is_between_two_people"
            ),
            one_of("status", LEG_STATES, "a_leg_is_in_a_known_state"),
            one_of("currency", CURRENCIES, "a_leg_has_a_known_currency"),
            one_of("cancellation", tuple(CANCELLATION), "a_leg_has_known_cancellation_terms"),
        ]
        indexes = [
            # Counts the completed bookings of a seller without reading the others.
            models.Index(
                fields=["seller"], condition=Q(status=COMPLETED), name="completed_legs_of_a_seller"
            ),
        ]

    def __str__(self) -> str:
        return self.service

    @property
    def parties(self) -> tuple[str, str]:
        return self.buyer_id, self.seller_id


class Dossier(models.Model):
    """The root of a thread's records: the leg or group it is bound to, and a revision counter.

    Snapshots in DynamoDB are built from these records and store the revision.
    """

    thread_id = models.CharField(primary_key=True, max_length=31)
    leg = models.OneToOneField(Leg, models.PROTECT, null=True, blank=True, related_name="dossier")
    group = models.OneToOneField(
        BookingGroup, models.PROTECT, null=True, blank=True, related_name="dossier"
    )
    revision = models.PositiveIntegerField(default=0)
    changed_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    changed_at = models.DateTimeField()
    # When payments of its legs have to be checked next: after every change, and at due dates.
    reminders_at = models.DateTimeField(null=True, blank=True, db_index=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(leg__isnull=True) | Q(group__isnull=True),
                name="a_thread_is_bound_to_a_leg_or_to_a_group",
            )
        ]

    def __str__(self) -> str:
        return self.thread_id

    @property
    def is_bound(self) -> bool:
        return bool(self.leg_id or self.group_id)
