"""Requests of users to be verified."""

from django.core.validators import MaxLengthValidator
from django.db import models
from django.db.models import Q

from accounts.models import User
from core.ids import new_id
from files.models import File

MAX_NOTE_CHARS = 1000
MAX_REASON_CHARS = 500


def new_verification_id() -> str:
    return new_id("ver")


class VerificationState(models.TextChoices):
    PENDING = "pending"
    APPROVED = "approved"
    DECLINED = "declined"
    WITHDRAWN = "withdrawn"


class VerificationRequest(models.Model):
    """A user asks to be verified, and staff decide. A user has at most one pending request."""

    id = models.CharField(
        primary_key=True, max_length=30, default=new_verification_id, editable=False
    )
    user = models.ForeignKey(User, models.CASCADE, related_name="verification_requests")
    state = models.CharField(
        max_length=9, choices=VerificationState, default=VerificationState.PENDING
    )
    link = models.URLField(max_length=500)
    note = models.TextField(
        max_length=MAX_NOTE_CHARS, blank=True, validators=[MaxLengthValidator(MAX_NOTE_CHARS)]
    )
    # Visible to staff only, and deleted some time after the decision.
    document = models.OneToOneField(File, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    decided_at = models.DateTimeField(null=True)
    decided_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    # Why it was declined; shown to the user.
    reason = models.TextField(max_length=MAX_REASON_CHARS, blank=True)

    class Meta:
        ordering = ["created_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["user"], condition=Q(state="pending"), name="one_pending_verification"
            )
        ]
        indexes = [models.Index(fields=["state", "created_at"], name="verification_by_state")]

    def __str__(self) -> str:
        return f"Verification of {self.user_id}"

    @property
    def is_pending(self) -> bool:
        return self.state == VerificationState.PENDING
