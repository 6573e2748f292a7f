"""When things can be booked: within the next five years, and one booking of a seller at a time."""

from datetime import datetime, timedelta

from django.utils import timezone

from accounts.models import User
from contracts.models import Leg
from contracts.models.bookings import BOOKED, ON_HOLD
from core.refusals import Refusal

MAX_AHEAD = timedelta(days=5 * 365)
Times = tuple[datetime, datetime]


def lock_seller(seller_id: str) -> None:
    """Until the transaction is over nobody else books or moves anything of theirs. `no_key`: rows
    that only refer to the seller are not kept waiting."""
    list(User.objects.select_for_update(no_key=True).filter(pk=seller_id))


def find_date_error(times: Times, agreed: Times | None = None) -> str:
    """What is wrong, in a sentence; empty if nothing is. A time that is agreed already may stay."""
    now = timezone.now()
    start, end = times
    old_start, old_end = agreed or (None, None)
    if start <= now and start != old_start:
        return "The start has to be in the future."
    if end <= now and end != old_end:
        return "The end has to be in the future."
    if end > now + MAX_AHEAD and end != old_end:
        return "Bookings can be at most five years ahead."
    return ""


def check_is_available(
    seller: User, times: Times, *, asked_by: User, leg: Leg | None = None
) -> None:
    """The caller holds the seller's row. `leg` is the booking that is moved, if it is one. Whoever
    is not the seller learns that the time is taken, and nothing about by whom."""
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
            hint="Suggest a time that does not overlap with it.",
        )
    raise Refusal(
        "ACTION_CONFLICT",
        f"{seller.display_name} isn't available at that time.",
        hint=f"Ask {seller.display_name} for another time.",
    )


def has_overlap(all_times: list[Times]) -> bool:
    ordered = sorted(all_times)
    return any(later[0] < earlier[1] for earlier, later in zip(ordered, ordered[1:], strict=False))
