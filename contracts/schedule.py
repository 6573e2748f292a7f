"""Checks of booking times: within five years, and without overlaps for a seller."""

from datetime import datetime, timedelta

from django.utils import timezone

from accounts.models import User
from contracts.models import Leg
from contracts.models.bookings import BOOKED, ON_HOLD
from core.refusals import Refusal

MAX_AHEAD = timedelta(days=5 * 365)
Times = tuple[datetime, datetime]


def lock_seller(seller_id: str) -> None:
    """Serialises changes to the bookings of a seller until the transaction ends. `no_key` does not
    block inserts of rows that refer to the seller."""
    list(User.objects.select_for_update(no_key=True).filter(pk=seller_id))


def find_date_error(times: Times, agreed: Times | None = None) -> str:
    """The error as a sentence, or empty. A time that is already agreed may stay."""
    now = timezone.now()
    start, end = times
    old_start, old_end = agreed or (None, None)
    if start <= now and start != old_start:
        return "The start must be in the future."
    if end <= now and end != old_end:
        return "The end must be in the future."
    if end > now + MAX_AHEAD and end != old_end:
        return "You can book up to five years ahead."
    return ""


def check_is_available(
    seller: User, times: Times, *, asked_by: User, leg: Leg | None = None
) -> None:
    """The caller has locked the seller. `leg` is the booking to reschedule, if any. Other users are
    not shown which booking takes the time."""
    start, end = times
    others = Leg.objects.filter(seller=seller, status__in=(BOOKED, ON_HOLD))
    if leg is not None:
        others = others.exclude(pk=leg.pk)
    if not others.filter(starts_at__lt=end, ends_at__gt=start).exists():
        return
    if asked_by.id == seller.id:
        raise Refusal(
            "ACTION_CONFLICT",
            "You have another booking at that time.",
            hint="Suggest a time that doesn't overlap with it.",
        )
    raise Refusal(
        "ACTION_CONFLICT",
        f"{seller.display_name} isn't available at that time.",
        hint=f"Ask {seller.display_name} for another time.",
    )


def has_overlap(all_times: list[Times]) -> bool:
    ordered = sorted(all_times)
    return any(later[0] < earlier[1] for earlier, later in zip(ordered, ordered[1:], strict=False))
