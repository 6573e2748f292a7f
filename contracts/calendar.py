"""iCalendar files (RFC 5545) of bookings. A later version of an event replaces the earlier one."""

from collections.abc import Iterable
from datetime import UTC, timedelta

from django.db.models import Count, Q
from django.utils import timezone
from icalendar import Calendar, Event

from accounts.models import User
from contracts.models import Leg
from contracts.models.bookings import CANCELLED

MAX_EVENTS = 500
# How long past bookings stay in a subscribed calendar.
KEPT = timedelta(days=365)


def calendar_of(leg: Leg) -> bytes:
    calendar = _calendar()
    calendar.add_component(_event(leg, leg.contract.versions.count()))
    return calendar.to_ical()


def calendar_of_user(user: User, *, thread_url: str) -> bytes:
    """All bookings of a user, in one query. `thread_url` contains `{}` for the id of a thread."""
    calendar = _calendar()
    calendar.add("x-wr-calname", "Parley bookings")
    calendar.add("refresh-interval", timedelta(hours=1), parameters={"value": "DURATION"})
    calendar.add("x-published-ttl", "PT1H")
    for leg in _list_legs(user):
        event = _event(leg, leg.version_count)
        event.add("url", thread_url.format(leg.thread_id))
        calendar.add_component(event)
    return calendar.to_ical()


def _list_legs(user: User) -> Iterable:
    """Includes cancelled bookings, so that subscribers remove them."""
    mine = Leg.objects.filter(Q(seller=user) | Q(buyer=user))
    recent = mine.filter(ends_at__gt=timezone.now() - KEPT)
    counted = recent.annotate(version_count=Count("contract__versions"))
    return counted.order_by("starts_at", "id")[:MAX_EVENTS]


def _calendar() -> Calendar:
    calendar = Calendar()
    calendar.add("version", "2.0")
    calendar.add("prodid", "-//Parley//Bookings//EN")
    calendar.add("method", "PUBLISH")
    return calendar


def _event(leg: Leg, version_count: int) -> Event:
    event = Event()
    is_cancelled = leg.status == CANCELLED
    event.add("uid", f"{leg.id}@parley")
    # A new version of the contract, and a cancellation, are later revisions of the same event.
    event.add("sequence", version_count + is_cancelled)
    event.add("dtstamp", timezone.now())
    # In UTC, which is the same moment in every zone and needs no definition of one.
    event.add("dtstart", leg.starts_at.astimezone(UTC))
    event.add("dtend", leg.ends_at.astimezone(UTC))
    event.add("summary", leg.service)
    event.add("location", leg.place)
    event.add("status", "CANCELLED" if is_cancelled else "CONFIRMED")
    return event
