"""Checks of booking times: within five years, and without overlaps for a seller.

A time that overlaps with a booking is refused. A time that the seller has blocked, or at which an
imported calendar is busy, is only warned of: the seller may accept it anyway.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from django.db.models import QuerySet
from django.utils import timezone

from accounts.models import User
from contracts.models import Leg
from contracts.models.bookings import BOOKED, ON_HOLD
from core.refusals import Refusal
from core.time_zones import local_time, zone_of

MAX_AHEAD = timedelta(days=5 * 365)
MAX_CONFLICTS = 5
Times = tuple[datetime, datetime]


@dataclass(frozen=True)
class Conflict:
    """What takes a time of the seller; `what` is shown to the seller only."""

    what: str
    starts_at: datetime
    ends_at: datetime


# Apps above register further reasons why a seller is not available: (seller id, start, end).
busy_sources: list[Callable[[str, datetime, datetime], list[Conflict]]] = []


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
    taken_by = _list_bookings(seller.id, times, leg).first()
    if taken_by is None:
        return
    if asked_by.id == seller.id:
        raise Refusal(
            "ACTION_CONFLICT",
            f"You have another booking at that time: {_describe(_of_booking(taken_by), seller)}.",
            hint="Suggest a time that doesn't overlap with it.",
        )
    raise Refusal(
        "ACTION_CONFLICT",
        f"{seller.display_name} isn't available at that time.",
        hint=f"Ask {seller.display_name} for another time.",
    )


def _list_bookings(seller_id: str, times: Times, leg: Leg | None) -> QuerySet[Leg]:
    start, end = times
    others = Leg.objects.filter(seller=seller_id, status__in=(BOOKED, ON_HOLD))
    if leg is not None:
        others = others.exclude(pk=leg.pk)
    return others.filter(starts_at__lt=end, ends_at__gt=start).order_by("starts_at")


def _of_booking(leg: Leg) -> Conflict:
    return Conflict(leg.service, leg.starts_at, leg.ends_at)


def list_warnings(
    seller: User, all_times: Iterable[Times], *, viewer: User, leg: Leg | None = None
) -> list[str]:
    """What to say about times before they are proposed or accepted. The seller sees what takes
    them, others only that the seller is not available."""
    conflicts = [
        conflict for times in all_times for conflict in _list_conflicts(seller.id, times, leg)
    ]
    if not conflicts:
        return []
    if viewer.id != seller.id:
        return [f"{seller.display_name} isn't available at that time."]
    return _describe_all(conflicts, seller)


def list_busy_warnings(seller: User, all_times: Iterable[Times], *, viewer: User) -> list[str]:
    """What a seller is shown before they accept a time despite a block or an imported calendar. A
    booking at that time is refused instead."""
    if viewer.id != seller.id:
        return []
    found = [busy for times in all_times for busy in _list_busy_times(seller.id, times)]
    return _describe_all(found, seller)


def _list_conflicts(seller_id: str, times: Times, leg: Leg | None) -> list[Conflict]:
    bookings = [
        Conflict(f"You have another booking: {each.service}", each.starts_at, each.ends_at)
        for each in _list_bookings(seller_id, times, leg)[:MAX_CONFLICTS]
    ]
    return bookings + _list_busy_times(seller_id, times)


def _list_busy_times(seller_id: str, times: Times) -> list[Conflict]:
    return [conflict for source in busy_sources for conflict in source(seller_id, *times)]


def _describe_all(conflicts: list[Conflict], seller: User) -> list[str]:
    described = dict.fromkeys(_describe(conflict, seller) for conflict in conflicts)
    return [f"{text}." for text in described][:MAX_CONFLICTS]


def _describe(conflict: Conflict, seller: User) -> str:
    """Times are in the seller's zone, because only the seller sees them."""
    zone = zone_of(seller.time_zone)
    start, end = (local_time(each, zone) for each in (conflict.starts_at, conflict.ends_at))
    return f"{conflict.what}, {_format_range(start, end)}"


def _format_range(start: datetime, end: datetime) -> str:
    if start.time() == end.time() == time.min:
        return _format_days(start.date(), end.date() - timedelta(days=1))
    if start.date() == end.date():
        return f"{_format_day(start)}, {start:%H:%M} to {end:%H:%M}"
    return f"{_format_day(start)}, {start:%H:%M} to {_format_day(end)}, {end:%H:%M}"


def _format_days(first: date, last: date) -> str:
    return _format_day(first) if first == last else f"{_format_day(first)} to {_format_day(last)}"


def _format_day(day: date) -> str:
    return f"{day.day} {day:%b %Y}"


def has_overlap(all_times: list[Times]) -> bool:
    ordered = sorted(all_times)
    return any(later[0] < earlier[1] for earlier, later in zip(ordered, ordered[1:], strict=False))
