"""iCalendar file (RFC 5545) of a booking: one event, which a later version of it replaces."""

from datetime import UTC

from django.utils import timezone
from icalendar import Calendar, Event

from contracts.models import Leg
from contracts.models.bookings import CANCELLED


def calendar_of(leg: Leg) -> bytes:
    calendar = Calendar()
    calendar.add("version", "2.0")
    calendar.add("prodid", "-//Parley//Bookings//EN")
    calendar.add("method", "PUBLISH")
    calendar.add_component(_event(leg))
    return calendar.to_ical()


def _event(leg: Leg) -> Event:
    event = Event()
    event.add("uid", f"{leg.id}@parley")
    # A new version of the contract is a later revision of the same event.
    event.add("sequence", leg.contract.versions.count())
    event.add("dtstamp", timezone.now())
    event.add("dtstart", leg.starts_at.astimezone(UTC))
    event.add("dtend", leg.ends_at.astimezone(UTC))
    event.add("summary", leg.service)
    event.add("location", leg.place)
    event.add("status", "CANCELLED" if leg.status == CANCELLED else "CONFIRMED")
    return event
