"""Moves the outbox forward in time without waiting."""

from datetime import timedelta

from django.utils import timezone

from core.outbox.claims import pending


def make_due() -> None:
    """Ends every back-off and the lease of every process that died."""
    now = timezone.now()
    pending().filter(due_at__gt=now).update(due_at=now)
    pending().filter(claimed_until__gt=now).update(claimed_until=now - timedelta(seconds=1))
