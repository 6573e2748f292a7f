"""The program that lists the busy times of a calendar: `python -m availability.expand`.

It uses nothing else of this project. The text is untrusted, so it runs in a process of its own
with limits on time and memory; the worker in files/images/worker.py starts it.
"""

import json
import os
import resource
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo

import recurring_ical_events
from icalendar import Calendar, Component

MAX_MEMORY_BYTES = 1 << 29
MAX_EVENTS = 5_000
MAX_OCCURRENCES = 20_000
MAX_BUSY_TIMES = 2_000
# RDATE and EXDATE values of all events together.
MAX_DATES = 10_000
# No calendar of people repeats that often; expanding such a rule would not end.
REFUSED_FREQUENCIES = {"SECONDLY", "MINUTELY"}
# Events that our own link exported: a booking must not conflict with itself.
OWN_UID = "@parley"
ONE_DAY = timedelta(days=1)
Times = tuple[datetime, datetime]


class TooComplex(Exception):
    """The calendar exceeds one of the limits."""


def handle(request: dict[str, Any]) -> dict[str, Any]:
    """`start` and `end` bound the expansion; `zone` is for days and times without a zone."""
    try:
        return {"busy": list(_expand(request))}
    except (TooComplex, MemoryError, RecursionError):
        return {"error": "too_complex"}
    except Exception as error:  # The parser raises all kinds of exceptions.
        return {"error": "not_a_calendar", "why": type(error).__name__}


def _expand(request: dict[str, Any]) -> Iterator[tuple[str, str]]:
    window = (datetime.fromisoformat(request["start"]), datetime.fromisoformat(request["end"]))
    calendar = Calendar.from_ical(request["text"])
    _keep_busy_events(calendar)
    # A day more on both sides: times without a zone have no fixed place in the window.
    query = recurring_ical_events.of(calendar, skip_bad_series=True)
    found = query.between(window[0] - ONE_DAY, window[1] + ONE_DAY)
    if len(found) > MAX_OCCURRENCES:
        raise TooComplex
    times = _list_times(found, window, ZoneInfo(request["zone"]))
    for start, end in merge(times):
        yield start.isoformat(), end.isoformat()


def _keep_busy_events(calendar: Component) -> None:
    """Removes events that take no time, so that they are not expanded. A single date of a series
    stays even if it takes none, because it replaces the date of the series."""
    events = [each for each in calendar.subcomponents if each.name == "VEVENT"]
    if len(events) > MAX_EVENTS:
        raise TooComplex
    events = [event for event in events if _is_readable(event)]
    if sum(_count_dates(event) for event in events) > MAX_DATES:
        raise TooComplex
    zones = [each for each in calendar.subcomponents if each.name == "VTIMEZONE"]
    kept = [each for each in events if _is_busy(each) or "RECURRENCE-ID" in each]
    calendar.subcomponents = [*zones, *kept]


def _is_readable(event: Any) -> bool:
    """Programs write broken events, which must not hide the others."""
    try:
        for rule in _as_list(event.get("RRULE")):
            rule.get("FREQ")
        return bool(event.start <= event.end)
    except Exception:  # Properties raise all kinds of exceptions.
        return False


def _count_dates(event: Component) -> int:
    for rule in _as_list(event.get("RRULE")):
        if REFUSED_FREQUENCIES & {str(each).upper() for each in rule.get("FREQ", [])}:
            raise TooComplex
    lists = [*_as_list(event.get("RDATE")), *_as_list(event.get("EXDATE"))]
    return sum(len(each.dts) for each in lists)


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _is_busy(event: Component) -> bool:
    return (
        str(event.get("TRANSP", "OPAQUE")).upper() != "TRANSPARENT"
        and str(event.get("STATUS", "CONFIRMED")).upper() != "CANCELLED"
        and str(event.get("X-MICROSOFT-CDO-BUSYSTATUS", "BUSY")).upper() != "FREE"
        and not str(event.get("UID", "")).endswith(OWN_UID)
    )


def _list_times(found: Iterable[Any], window: Times, zone: ZoneInfo) -> list[Times]:
    """The busy times, cut at the ends of the window."""
    times: list[Times] = []
    for event in found:
        start, end = (_moment(event[name].dt, zone) for name in ("DTSTART", "DTEND"))
        start, end = max(start, window[0]), min(end, window[1])
        if _is_busy(event) and start < end:
            times.append((start, end))
    return times


def _moment(value: date | datetime, zone: ZoneInfo) -> datetime:
    if not isinstance(value, datetime):
        value = datetime.combine(value, time.min)
    return (value if value.tzinfo else value.replace(tzinfo=zone)).astimezone(UTC)


def merge(times: Iterable[Times]) -> list[Times]:
    merged: list[Times] = []
    for start, end in sorted(times):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return list(islice(merged, MAX_BUSY_TIMES))


def main() -> None:
    os.nice(int(sys.argv[1]))
    if sys.platform != "darwin":  # macOS does not support this limit.
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    for line in sys.stdin:
        print(json.dumps(handle(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
