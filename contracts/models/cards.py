"""Cards and their steps. A card is the current state, its steps are the history."""

from django.db import models
from django.db.models import Q

from accounts.models import User
from contracts.models.bookings import Leg, Offer
from contracts.models.fields import record_id, thread


class Card(models.Model):
    """A proposal about a booking that another user answers. DynamoDB stores a shadow of it.

    contracts/cards/types defines the states and transitions.
    """

    id = record_id("card")
    type = models.CharField(max_length=12)
    thread_id = thread()
    leg = models.ForeignKey(Leg, models.PROTECT, null=True, blank=True, related_name="cards")
    # The record of the terms, for a card of type `offer`.
    offer = models.OneToOneField(Offer, models.PROTECT, null=True, blank=True, related_name="card")
    buyer = models.ForeignKey(User, models.PROTECT, related_name="cards_as_buyer")
    seller = models.ForeignKey(User, models.PROTECT, related_name="cards_as_seller")
    proposed_by = models.ForeignKey(User, models.PROTECT, related_name="cards_proposed")
    # The client's idempotency key, and a hash of the proposal that detects a reused key.
    key = models.CharField(max_length=64)
    seal = models.CharField(max_length=64)
    payload = models.JSONField()
    state = models.CharField(max_length=20)
    version = models.PositiveIntegerField(default=1)
    # Ids of the users who have to act.
    waits_for = models.JSONField(default=list)
    is_open = models.BooleanField(default=True)
    # The deadline, and since when it is paused.
    due_at = models.DateTimeField(null=True, blank=True)
    stopped_at = models.DateTimeField(null=True, blank=True)
    # When both parties were warned of the deadline.
    warned_at = models.DateTimeField(null=True, blank=True)
    # The card that this one answers.
    counters = models.OneToOneField(
        "self", models.PROTECT, null=True, blank=True, related_name="countered_by"
    )
    # Its message in DynamoDB, once stored.
    message_id = models.CharField(max_length=31, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["proposed_by", "key"], name="one_card_an_attempt"),
            models.CheckConstraint(
                condition=Q(is_open=True) | Q(due_at__isnull=True), name="only_open_cards_are_due"
            ),
        ]
        indexes = [
            models.Index(
                fields=["due_at"],
                name="cards_due",
                condition=Q(due_at__isnull=False, stopped_at__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.type}, {self.state}"

    @property
    def parties(self) -> tuple[str, str]:
        return self.buyer_id, self.seller_id

    @property
    def answerer_id(self) -> str:
        """The party who did not propose the card."""
        return self.seller_id if self.proposed_by_id == self.buyer_id else self.buyer_id


class CardStep(models.Model):
    """One transition of a card: who, when, from, to and why. Append-only."""

    card = models.ForeignKey(Card, models.PROTECT, related_name="steps")
    # The card's version after the step.
    version = models.PositiveIntegerField()
    move = models.CharField(max_length=20)
    # Null for a deadline.
    by = models.ForeignKey(User, models.PROTECT, null=True, related_name="card_steps")
    key = models.CharField(max_length=64)
    at = models.DateTimeField()
    from_state = models.CharField(max_length=20, blank=True)
    to_state = models.CharField(max_length=20)
    why = models.TextField(blank=True)
    says = models.TextField(blank=True)

    class Meta:
        ordering = ["version"]
        constraints = [
            models.UniqueConstraint(fields=["card", "version"], name="one_step_a_version"),
            models.UniqueConstraint(fields=["card", "by", "key"], name="one_step_an_attempt"),
        ]

    def __str__(self) -> str:
        return f"{self.card_id} {self.version}: {self.move}"


class ClockStop(models.Model):
    """A reason why the deadlines of a thread are paused."""

    thread_id = thread()
    why = models.CharField(max_length=10)
    since = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["thread_id", "why"], name="one_stop_a_reason"),
        ]

    def __str__(self) -> str:
        return f"{self.thread_id}: {self.why}"
