"""Field types of card payloads, and formatting of times."""

from datetime import date, datetime
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from pydantic import BeforeValidator, Field, StringConstraints, ValidationInfo

from contracts.amounts import parse_amount
from contracts.models.fields import MAX_CENTS
from contracts.refusals import INVALID_DAY, INVALID_MOMENT
from core.refusals import Refusal
from core.time_zones import local_time

MAX_LINE_CHARS, MAX_NOTE_CHARS = 120, 1000
MAX_NUMBER_DIGITS, MAX_MOMENT_CHARS = 9, 32


def field_error(part: str, sentence: str) -> Refusal:
    """A refusal with an error for one field of a form."""
    refusal = Refusal("CARD_INVALID")
    refusal.details["errors"] = {part: sentence}
    return refusal


def normalise_text(value: Any) -> Any:
    """Normalises newlines and removes null characters."""
    if not isinstance(value, str):
        return value
    return value.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "").strip()


def _one_line(value: Any) -> Any:
    return " ".join(value.replace("\x00", "").split()) if isinstance(value, str) else value


def _cents(value: Any, info: ValidationInfo) -> int:
    """The validation context contains the currency and the user's locale."""
    assert info.context is not None
    cents = parse_amount(value, currency=info.context["currency"], locale=info.context["locale"])
    if not cents:
        raise ValueError("Enter an amount above zero.")
    return cents


def _whole_number(value: Any) -> int:
    """The length is limited before the text is parsed."""
    text = value.strip() if isinstance(value, str) else str(value) if type(value) is int else ""
    if not (text.isascii() and text.isdecimal() and len(text) <= MAX_NUMBER_DIGITS):
        raise ValueError("Enter a whole number.")
    return int(text)


def _bounded_moment(value: Any) -> Any:
    return _bounded(value, INVALID_MOMENT)


def _bounded_day(value: Any) -> Any:
    return _bounded(value, INVALID_DAY)


def _bounded(value: Any, message: str) -> Any:
    """Accepts short ISO text only: a bare number would be parsed as seconds since 1970."""
    if not isinstance(value, str) or len(value) > MAX_MOMENT_CHARS or "-" not in value.strip()[1:]:
        raise ValueError(message)
    return value.strip()


SingleLine = Annotated[
    str, BeforeValidator(_one_line), StringConstraints(min_length=1, max_length=MAX_LINE_CHARS)
]
Note = Annotated[str, BeforeValidator(normalise_text), StringConstraints(max_length=MAX_NOTE_CHARS)]
Reason = Annotated[
    str, BeforeValidator(normalise_text), StringConstraints(min_length=1, max_length=MAX_NOTE_CHARS)
]
Cents = Annotated[int, BeforeValidator(_cents), Field(gt=0, le=MAX_CENTS)]
WholeNumber = Annotated[int, BeforeValidator(_whole_number)]
Moment = Annotated[datetime, BeforeValidator(_bounded_moment)]
Day = Annotated[date, BeforeValidator(_bounded_day)]


def in_zone(moment: datetime, zone: str) -> datetime:
    """Times without an offset are in the booking's time zone."""
    moment = moment.replace(second=0, microsecond=0)
    return moment.replace(tzinfo=ZoneInfo(zone)) if moment.tzinfo is None else moment


def format_for_input(moment: datetime, zone: str) -> str:
    """Formats a time as the value of a datetime-local input."""
    return f"{local_time(moment, ZoneInfo(zone)):%Y-%m-%dT%H:%M}"


def format_times(start: str, end: str, time_zone: str) -> str:
    """Formats a time range in the booking's time zone, with its city, the same for all viewers."""
    zone = ZoneInfo(time_zone)
    first, last = (local_time(datetime.fromisoformat(each), zone) for each in (start, end))
    city = time_zone.rpartition("/")[2].replace("_", " ")
    if first.date() == last.date():
        return f"{format_day(first)}, {first:%H:%M} to {last:%H:%M} ({city})"
    return f"{format_day(first)}, {first:%H:%M} to {format_day(last)}, {last:%H:%M} ({city})"


def format_day(moment: date) -> str:
    return f"{moment:%a} {moment.day} {moment:%b %Y}"
