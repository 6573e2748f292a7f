"""Forms of the calendar page."""

from datetime import date, datetime, time, timedelta
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

from django import forms
from django.utils import timezone

from availability.models import MAX_NAME_CHARS, MAX_NOTE_CHARS, MAX_URL_CHARS
from contracts.schedule import MAX_AHEAD
from core.http_client.download import is_downloadable

MAX_DAYS = 366
DATE = {"type": "date"}


class BlockForm(forms.Form):
    """A block of whole days, or from a time to a time. Times are in the user's zone."""

    key = forms.UUIDField(widget=forms.HiddenInput)
    first_day = forms.DateField(label="From", widget=forms.DateInput(DATE, format="%Y-%m-%d"))
    start = forms.TimeField(
        label="Start time", required=False, widget=forms.TimeInput({"type": "time"})
    )
    last_day = forms.DateField(
        label="To", required=False, widget=forms.DateInput(DATE, format="%Y-%m-%d")
    )
    end = forms.TimeField(
        label="End time", required=False, widget=forms.TimeInput({"type": "time"})
    )
    note = forms.CharField(
        label="Note", required=False, max_length=MAX_NOTE_CHARS, help_text="Only you can see it."
    )

    def __init__(self, *args: Any, zone: ZoneInfo, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.zone = zone
        self.fields["key"].initial = uuid4

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        first: date | None = data.get("first_day")
        if first is None or self.errors:
            return data
        last: date = data.get("last_day") or first
        start, end = data.get("start"), data.get("end")
        if bool(start) != bool(end):
            self.add_error(
                "end" if start else "start", "Enter both times, or neither to block whole days."
            )
            return data
        try:
            starts_at = self._moment(first, start or time.min)
            ends_at = self._moment(last, end) if end else self._moment(last, time.min, days=1)
        except OverflowError:
            self.add_error("first_day", "You can block up to five years ahead.")
            return data
        self._check(starts_at, ends_at)
        return data | {"starts_at": starts_at, "ends_at": ends_at, "is_all_day": not start}

    def _moment(self, day: date, at: time, days: int = 0) -> datetime:
        return datetime.combine(day + timedelta(days=days), at, self.zone).astimezone(
            ZoneInfo("UTC")
        )

    def _check(self, starts_at: datetime, ends_at: datetime) -> None:
        now = timezone.now()
        if ends_at <= starts_at:
            self.add_error("last_day", "The end must be after the start.")
        elif ends_at <= now:
            self.add_error("first_day", "Choose a time that hasn't passed.")
        elif ends_at > now + MAX_AHEAD:
            self.add_error("last_day", "You can block up to five years ahead.")
        elif ends_at - starts_at > timedelta(days=MAX_DAYS + 1):
            self.add_error("last_day", "You can block up to a year at once.")

    def arguments(self) -> dict[str, Any]:
        names = ("starts_at", "ends_at", "is_all_day", "note")
        return {"key": str(self.cleaned_data["key"])} | {
            name: self.cleaned_data[name] for name in names
        }


class FeedForm(forms.Form):
    name = forms.CharField(
        label="Name", max_length=MAX_NAME_CHARS, help_text="Such as “Private” or “Studio”."
    )
    url = forms.CharField(
        label="iCal address",
        max_length=MAX_URL_CHARS,
        help_text="A secret or public link that usually ends in .ics.",
        widget=forms.TextInput({"inputmode": "url", "autocomplete": "off", "spellcheck": "false"}),
    )

    def clean_url(self) -> str:
        url: str = self.cleaned_data["url"].strip()
        if url[:9].lower() == "webcal://":
            url = "https://" + url[9:]
        if url[:7].lower() == "http://":
            raise forms.ValidationError("Use a link that starts with https://.", code="scheme")
        if not is_downloadable(url):
            raise forms.ValidationError("That isn't the address of a calendar.", code="address")
        return url
