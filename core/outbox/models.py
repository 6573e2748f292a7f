"""Outbox entries."""

from typing import Any

from django.db import models
from django.utils import timezone

IS_PENDING = models.Q(done_at__isnull=True, dead_at__isnull=True)


class OutboxEntry(models.Model):
    """A change in this database that must be applied to DynamoDB too; see core/outbox.

    Written in the same transaction as the change. It is pending, done or a dead letter.
    """

    kind = models.CharField(max_length=20)
    payload = models.JSONField()
    # Entries with the same key are processed one at a time, in order.
    ordering_key = models.CharField(max_length=100)
    created_at = models.DateTimeField(auto_now_add=True)
    due_at = models.DateTimeField(default=timezone.now)
    # Attempts since it was written or retried, and how many failed or died with their process.
    attempts = models.PositiveIntegerField(default=0)
    failures = models.PositiveIntegerField(default=0)
    last_error = models.CharField(max_length=100, blank=True)
    claimed_by = models.CharField(max_length=16, blank=True)
    claimed_until = models.DateTimeField(null=True)
    done_at = models.DateTimeField(null=True)
    dead_at = models.DateTimeField(null=True)

    class Meta:
        # The table was created by the accounts app, where the model used to be.
        app_label = "accounts"
        verbose_name_plural = "outbox entries"
        indexes = [
            models.Index(fields=["due_at", "id"], name="outbox_due", condition=IS_PENDING),
            models.Index(fields=["ordering_key", "id"], name="outbox_order", condition=IS_PENDING),
            models.Index(
                fields=["dead_at"], name="outbox_dead", condition=models.Q(dead_at__isnull=False)
            ),
            models.Index(
                fields=["done_at"], name="outbox_done", condition=models.Q(done_at__isnull=False)
            ),
        ]
        constraints = [
            models.CheckConstraint(
                condition=~models.Q(ordering_key=""), name="outbox_has_ordering_key"
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        self.ordering_key = self.ordering_key or ordering_key_of(self.kind, self.payload)
        super().save(*args, **kwargs)


def ordering_key_of(kind: str, payload: dict[str, Any]) -> str:
    """The key within which entries keep their order."""
    if kind == "case":
        # Not the thread's key: a case must reach staff while the thread's entries are postponed.
        return f"case:{payload.get('thread') or payload.get('person') or ''}"
    if "case" in payload:
        return f"case:{payload['case']}"
    if payload.get("by_staff"):
        # Staff decisions must not wait for the thread's postponed entries.
        return f"staff:{payload['thread']}"
    if "thread" in payload:
        return f"thread:{payload['thread']}"
    if "user" in payload:
        return f"user:{payload['user']}"
    if "blocker" in payload:
        return "pair:{}:{}".format(*sorted((payload["blocker"], payload["blocked"])))
    return f"kind:{kind}"
