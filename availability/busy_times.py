"""Busy times of a seller other than bookings: their own blocks and imported calendars."""

from datetime import datetime

from availability.models import BusyTime, TimeBlock
from contracts.schedule import MAX_CONFLICTS, Conflict


def list_busy_times(user_id: str, start: datetime, end: datetime) -> list[Conflict]:
    """Registered in `contracts.schedule.busy_sources`, so that offers can warn of them."""
    at_that_time = {"user": user_id, "starts_at__lt": end, "ends_at__gt": start}
    blocks = TimeBlock.objects.filter(**at_that_time).order_by("starts_at")
    busy = BusyTime.objects.filter(**at_that_time).select_related("feed").order_by("starts_at")
    return [
        *(_of_block(block) for block in blocks[:MAX_CONFLICTS]),
        *(_of_calendar(time) for time in busy[:MAX_CONFLICTS]),
    ]


def _of_block(block: TimeBlock) -> Conflict:
    what = f"You blocked this time: {block.note}" if block.note else "You blocked this time"
    return Conflict(what, block.starts_at, block.ends_at)


def _of_calendar(time: BusyTime) -> Conflict:
    return Conflict(
        f"You're busy in your calendar “{time.feed.name}”", time.starts_at, time.ends_at
    )
