"""A booking for somebody's calendar, as RFC 5545 writes it: one event, which a later state of the
same booking replaces."""

from datetime import UTC, datetime

from django.utils import timezone

from contracts.models import Leg
from contracts.models.bookings import CANCELLED

WIDEST = 75


def calendar_of(leg: Leg) -> bytes:
    # A new version of the contract is a later state of the same event.
    sequence = leg.contract.versions.count()
    status = "CANCELLED" if leg.status == CANCELLED else "CONFIRMED"
    lines = [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        "PRODID:-//Parley//Bookings//EN",
        "METHOD:PUBLISH",
        "BEGIN:VEVENT",
        f"UID:{leg.id}@parley",
        f"SEQUENCE:{sequence}",
        f"DTSTAMP:{_moment(timezone.now())}",
        f"DTSTART:{_moment(leg.starts_at)}",
        f"DTEND:{_moment(leg.ends_at)}",
        f"SUMMARY:{_text(leg.service)}",
        f"LOCATION:{_text(leg.place)}",
        f"STATUS:{status}",
        "END:VEVENT",
        "END:VCALENDAR",
    ]
    return b"".join(_folded(line) for line in lines)


def _moment(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y%m%dT%H%M%SZ}"


def _text(text: str) -> str:
    for mark in ("\\", ";", ","):
        text = text.replace(mark, f"\\{mark}")
    return text.replace("\r\n", "\\n").replace("\n", "\\n").replace("\r", "\\n")


def _folded(line: str) -> bytes:
    """Lines of 75 bytes at most, and no letter torn apart."""
    parts, part = [], b""
    for letter in line:
        raw = letter.encode()
        if len(part) + len(raw) > WIDEST:
            parts.append(part)
            part = b" "
        part += raw
    return b"\r\n".join([*parts, part]) + b"\r\n"
