"""The iCalendar file of a booking, read by an iCalendar parser."""

from datetime import UTC, datetime

import pytest
import time_machine
from django.urls import reverse
from icalendar import Calendar

from contracts.calendar import calendar_of
from contracts.models.bookings import CANCELLED

pytestmark = pytest.mark.django_db

NOW = datetime(2027, 3, 1, 12, 30, 15, tzinfo=UTC)
INJECTION = "Wedding\r\nATTENDEE:mailto:eve@example.org\nEND:VEVENT\rBEGIN:VALARM"


def only_event(leg):
    (event,) = Calendar.from_ical(calendar_of(leg)).walk("VEVENT")
    return event


def content_lines(leg):
    return calendar_of(leg).replace(b"\r\n ", b"").decode().removesuffix("\r\n").split("\r\n")


def test_a_booking_can_be_downloaded_as_a_calendar_file(leg, client):
    client.force_login(leg.buyer)
    response = client.get(reverse("projects:calendar", args=[leg.id]))
    assert response["Content-Type"] == "text/calendar; charset=utf-8"
    assert response["Content-Disposition"] == f'attachment; filename="{leg.id}.ics"'
    lines = response.content.decode().split("\r\n")
    assert f"UID:{leg.id}@parley" in lines
    assert f"DTSTART:{leg.starts_at:%Y%m%dT%H%M%SZ}" in lines
    assert all(len(line.encode()) <= 75 for line in lines)


@time_machine.travel(NOW, tick=False)
def test_every_property_is_written_once_and_times_are_in_utc(leg):
    leg.service, leg.place = "Portraits", "Studio 4"
    assert sorted(content_lines(leg)) == sorted(
        [
            "BEGIN:VCALENDAR",
            "VERSION:2.0",
            "PRODID:-//Parley//Bookings//EN",
            "METHOD:PUBLISH",
            "BEGIN:VEVENT",
            f"UID:{leg.id}@parley",
            f"SEQUENCE:{leg.contract.versions.count()}",
            "DTSTAMP:20270301T123015Z",
            f"DTSTART:{leg.starts_at.astimezone(UTC):%Y%m%dT%H%M%SZ}",
            f"DTEND:{leg.ends_at.astimezone(UTC):%Y%m%dT%H%M%SZ}",
            "SUMMARY:Portraits",
            "LOCATION:Studio 4",
            "STATUS:CONFIRMED",
            "END:VEVENT",
            "END:VCALENDAR",
        ]
    )


def test_a_cancelled_booking_is_a_cancelled_event(leg):
    leg.status = CANCELLED
    assert only_event(leg)["STATUS"] == "CANCELLED"


def test_text_cannot_add_lines_or_properties(leg):
    leg.service = leg.place = INJECTION
    event = only_event(leg)
    assert "ATTENDEE" not in event
    assert not event.subcomponents
    names = [line.partition(":")[0] for line in content_lines(leg)]
    assert len(names) == len(set(names)) + 2, "Only BEGIN and END occur twice."
    # iCalendar has only one kind of line break.
    expected = INJECTION.replace("\r\n", "\n").replace("\r", "\n")
    assert (event["SUMMARY"], event["LOCATION"]) == (expected, expected)


@pytest.mark.parametrize(
    "text",
    [
        "Hair, make-up; styling",
        r"C:\new\; and \, and \\n",
        "Zoë’s “soirée” 東京 🎞️",
        "ü" * 400,
        "👩‍👩‍👧‍👦" * 60,
        'a "quoted": value',
        "",
    ],
)
def test_text_is_unchanged_by_escaping_and_line_folding(leg, text):
    leg.service = leg.place = text
    event = only_event(leg)
    assert (event["SUMMARY"], event["LOCATION"]) == (text, text)
    for line in calendar_of(leg).split(b"\r\n"):
        assert len(line) <= 75
        # Line folding never splits the bytes of a character.
        line.decode()
