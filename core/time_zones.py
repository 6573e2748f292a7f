"""The time zones that a person can choose, and what time it is there."""

import datetime
import zoneinfo
from functools import cache

from django.core.exceptions import ValidationError

UTC = "UTC"


class LocalTime(datetime.datetime):
    """A time that templates leave in its own zone; any other they turn into the reader's."""

    convert_to_local_time = False


@cache  # Finding them out walks through a folder of files.
def list_time_zones() -> tuple[str, ...]:
    """Places, not abbreviations: "EST" or "localtime" do not say what time it is in July."""
    places = (n for n in zoneinfo.available_timezones() if "/" in n and not n.startswith("Etc/"))
    return (UTC, *sorted(places))


def check_time_zone(name: str) -> None:
    if name not in list_time_zones():
        raise ValidationError("Choose a time zone from the list.", code="time_zone")


def zone_of(name: str) -> zoneinfo.ZoneInfo:
    """A zone that this machine does not know (its list may be older) reads as UTC."""
    return zoneinfo.ZoneInfo(name if name in list_time_zones() else UTC)


def time_in(name: str) -> LocalTime:
    return LocalTime.now(zone_of(name))


def local_time(moment: datetime.datetime, zone: datetime.tzinfo) -> datetime.datetime:
    """In that zone; at the edges of the calendar, where there is no such time, as it is."""
    try:
        return moment.astimezone(zone)
    except OverflowError:
        return moment
