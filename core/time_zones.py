"""The time zones that a user can choose, and local times in them."""

import datetime
import zoneinfo
from functools import cache

from django.core.exceptions import ValidationError

UTC = "UTC"


class LocalTime(datetime.datetime):
    """A datetime that templates do not convert to the viewer's zone."""

    convert_to_local_time = False


@cache  # Listing them walks a directory tree.
def list_time_zones() -> tuple[str, ...]:
    """Zones of places only: abbreviations such as "EST" ignore daylight saving time."""
    places = (n for n in zoneinfo.available_timezones() if "/" in n and not n.startswith("Etc/"))
    return (UTC, *sorted(places))


def check_time_zone(name: str) -> None:
    if name not in list_time_zones():
        raise ValidationError("Choose a time zone from the list.", code="time_zone")


def zone_of(name: str) -> zoneinfo.ZoneInfo:
    """The zone of that name; UTC if this machine does not have it."""
    return zoneinfo.ZoneInfo(name if name in list_time_zones() else UTC)


def time_in(name: str) -> LocalTime:
    return LocalTime.now(zone_of(name))


def local_time(moment: datetime.datetime, zone: datetime.tzinfo) -> datetime.datetime:
    """The time in that zone; unchanged at the limits of the calendar."""
    try:
        return moment.astimezone(zone)
    except OverflowError:
        return moment
