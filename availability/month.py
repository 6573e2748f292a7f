"""A month of a user's calendar: days with bookings, blocks and busy times."""

import calendar
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from django.db.models import Q

from accounts.models import User
from availability.models import BusyTime, TimeBlock
from contracts.models import Leg
from contracts.models.bookings import CANCELLED
from core.time_zones import LocalTime, local_time

BOOKING, BLOCK, BUSY = "booking", "block", "busy"
MAX_ENTRIES = 500
MAX_PER_DAY = 8
FIRST_YEAR, LAST_YEAR = 2000, 2100


@dataclass(frozen=True)
class Entry:
    kind: str
    title: str
    starts_at: datetime
    ends_at: datetime
    # The other party of a booking, the note of a block.
    detail: str = ""
    thread_id: str = ""
    block_id: str = ""


@dataclass(frozen=True)
class DayEntry:
    """An entry on one of its days; `hours` is empty if it takes the whole day."""

    entry: Entry
    hours: str


@dataclass
class CalendarDay:
    date: date
    is_today: bool
    entries: list[DayEntry] = field(default_factory=list)
    more: int = 0


@dataclass(frozen=True)
class CalendarMonth:
    first: date
    days: list[CalendarDay]

    @property
    def has_entries(self) -> bool:
        return any(day.entries for day in self.days)

    @property
    def previous(self) -> date:
        return (self.first - timedelta(days=1)).replace(day=1)

    @property
    def next(self) -> date:
        return (self.first + timedelta(days=31)).replace(day=1)


def parse_month(text: str, today: date) -> date:
    """The first day of a month given as 2026-11; the current month for anything else."""
    year, _, month = text.partition("-")
    is_number = len(text) == 7 and text.isascii() and year.isdecimal() and month.isdecimal()
    if is_number and FIRST_YEAR <= int(year) <= LAST_YEAR and 1 <= int(month) <= 12:
        return date(int(year), int(month), 1)
    return today.replace(day=1)


def get_month(user: User, first: date, zone: ZoneInfo) -> CalendarMonth:
    """Reads at most `MAX_ENTRIES` of each kind, in three queries."""
    length = calendar.monthrange(first.year, first.month)[1]
    dates = [first + timedelta(days=number) for number in range(length)]
    start, end = (_midnight(day, zone) for day in (dates[0], dates[-1] + timedelta(days=1)))
    entries = [*_bookings(user, start, end), *_blocks(user, start, end), *_busy(user, start, end)]
    by_day = _by_day(sorted(entries, key=lambda entry: entry.starts_at), dates, zone)
    today = LocalTime.now(zone).date()
    return CalendarMonth(first, [_day(day, today, by_day[day]) for day in dates])


def _midnight(day: date, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, time.min, zone).astimezone(UTC)


def _bookings(user: User, start: datetime, end: datetime) -> list[Entry]:
    legs = Leg.objects.filter(Q(seller=user) | Q(buyer=user), starts_at__lt=end, ends_at__gt=start)
    found = legs.exclude(status=CANCELLED).select_related("seller", "buyer").order_by("starts_at")
    return [
        Entry(
            BOOKING,
            leg.service,
            leg.starts_at,
            leg.ends_at,
            (leg.buyer if leg.seller_id == user.id else leg.seller).display_name,
            thread_id=leg.thread_id,
        )
        for leg in found[:MAX_ENTRIES]
    ]


def _blocks(user: User, start: datetime, end: datetime) -> list[Entry]:
    blocks = TimeBlock.objects.filter(user=user, starts_at__lt=end, ends_at__gt=start)
    return [
        Entry(BLOCK, "Blocked", each.starts_at, each.ends_at, each.note, block_id=each.id)
        for each in blocks.order_by("starts_at")[:MAX_ENTRIES]
    ]


def _busy(user: User, start: datetime, end: datetime) -> list[Entry]:
    times = BusyTime.objects.filter(user=user, starts_at__lt=end, ends_at__gt=start)
    return [
        Entry(BUSY, "Busy", each.starts_at, each.ends_at, each.feed.name)
        for each in times.select_related("feed").order_by("starts_at")[:MAX_ENTRIES]
    ]


def _by_day(
    entries: list[Entry], dates: list[date], zone: ZoneInfo
) -> defaultdict[date, list[DayEntry]]:
    found: defaultdict[date, list[DayEntry]] = defaultdict(list)
    for entry in entries:
        start, end = (local_time(each, zone) for each in (entry.starts_at, entry.ends_at))
        # An entry that ends at midnight does not take the day that begins then.
        last = (end - timedelta(microseconds=1)).date()
        day = max(start.date(), dates[0])
        while day <= min(last, dates[-1]):
            found[day].append(DayEntry(entry, _hours(day, start, end)))
            day += timedelta(days=1)
    return found


def _hours(day: date, start: datetime, end: datetime) -> str:
    begins_today = start.date() == day and start.time() != time.min
    ends_today = end.date() == day
    if begins_today and ends_today:
        return f"{start:%H:%M} to {end:%H:%M}"
    if begins_today:
        return f"from {start:%H:%M}"
    return f"until {end:%H:%M}" if ends_today else ""


def _day(day: date, today: date, entries: list[DayEntry]) -> CalendarDay:
    shown = entries[:MAX_PER_DAY]
    return CalendarDay(day, day == today, shown, len(entries) - len(shown))
