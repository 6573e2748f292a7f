"""Time passes for the outbox, without waiting for it."""

from datetime import timedelta

from django.utils import timezone

from core.outbox.claims import pending


def make_due() -> None:
    """Back-off is over, and the lease of a process that died has ended."""
    now = timezone.now()
    pending().filter(due_at__gt=now).update(due_at=now)
    pending().filter(claimed_until__gt=now).update(claimed_until=now - timedelta(seconds=1))
