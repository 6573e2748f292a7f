"""Fetches imported calendars and stores their busy times."""

import random
import tempfile
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import structlog
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from availability.models import BusyTime, CalendarFeed
from core.http_client.download import DownloadFailed, ExpectedContent, download
from core.time_zones import zone_of
from files.images.worker import Worker, WorkerFailed

log = structlog.get_logger(__name__)

INTERVAL = timedelta(hours=1)
MAX_INTERVAL = timedelta(days=1)
# Longer than a fetch can take.
LEASE = timedelta(minutes=5)
# How far ahead busy times are listed, and after which time an unchanged calendar is read again,
# so that they do not run out.
WINDOW = timedelta(days=396)
MAX_READ_AGE = timedelta(days=7)
EXPAND_SECONDS = 10.0
CALENDAR = ExpectedContent("text/calendar, text/plain;q=0.5", "text/", 2 << 20)
ERRORS = {
    "certificate": CalendarFeed.FetchError.INSECURE,
    "size": CalendarFeed.FetchError.TOO_LARGE,
    "type": CalendarFeed.FetchError.NOT_A_CALENDAR,
    "status 401": CalendarFeed.FetchError.DENIED,
    "status 403": CalendarFeed.FetchError.DENIED,
    "status 404": CalendarFeed.FetchError.MISSING,
    "status 410": CalendarFeed.FetchError.MISSING,
}
_expander = Worker("availability.expand", niceness=10)


class FeedFailed(Exception):
    def __init__(self, error: str) -> None:
        super().__init__(error)
        self.error = error


def claim_feed() -> CalendarFeed | None:
    """Leases the feed that is due first. None if none is due, or if another process was faster."""
    due = CalendarFeed.objects.filter(due_at__lte=timezone.now(), user__is_active=True)
    found = due.select_related("user").order_by("due_at", "pk").first()
    if found is None:
        return None
    unclaimed = CalendarFeed.objects.filter(pk=found.pk, due_at=found.due_at)
    return found if unclaimed.update(due_at=timezone.now() + LEASE) else None


def fetch_next() -> bool:
    """Returns whether a feed was due."""
    feed = claim_feed()
    if feed is None:
        return False
    try:
        fetch_feed(feed)
    except FeedFailed as error:
        _record_failure(feed, error.error)
    except Exception:
        log.exception("calendar_feed_failed", feed=feed.pk)
        _record_failure(feed, CalendarFeed.FetchError.UNREACHABLE)
    return True


def fetch_feed(feed: CalendarFeed) -> None:
    with tempfile.TemporaryDirectory(prefix="parley-") as folder:
        target = Path(folder) / "calendar"
        try:
            result = download(feed.url, target, CALENDAR, _conditions(feed))
        except DownloadFailed as error:
            reason = ERRORS.get(str(error), CalendarFeed.FetchError.UNREACHABLE)
            raise FeedFailed(reason) from error
        if not result.is_modified:
            return _record_success(feed, {})
        text = target.read_text("utf-8-sig", errors="replace")
    now, zone = timezone.now(), zone_of(feed.user.time_zone).key
    busy = _expand(text, now, zone)
    etag, modified = (_header(result.headers, name) for name in ("ETag", "Last-Modified"))
    read = {"etag": etag[:200], "last_modified": modified[:60], "read_at": now}
    return _record_success(feed, read | {"read_in_zone": zone}, busy)


def _conditions(feed: CalendarFeed) -> dict[str, str]:
    """The headers of a conditional request, if what was read last can be kept."""
    is_recent = feed.read_at is not None and feed.read_at > timezone.now() - MAX_READ_AGE
    if not is_recent or feed.read_in_zone != zone_of(feed.user.time_zone).key:
        return {}
    headers = {"If-None-Match": feed.etag, "If-Modified-Since": feed.last_modified}
    return {name: value for name, value in headers.items() if value}


def _header(headers: object, name: str) -> str:
    """A header of the response, unless it could not be sent back."""
    sent = {key.lower(): value for key, value in dict(headers).items()}  # type: ignore[call-overload]
    value = str(sent.get(name.lower(), ""))
    return value if value.isascii() and value.isprintable() else ""


def _expand(text: str, now: datetime, zone: str) -> list[tuple[datetime, datetime]]:
    """Runs in another process with limits: recurrence rules can describe endless work."""
    window = {"start": now.isoformat(), "end": (now + WINDOW).isoformat()}
    try:
        answer = _expander.run({"text": text, "zone": zone} | window, seconds=EXPAND_SECONDS)
    except WorkerFailed as error:
        raise FeedFailed(CalendarFeed.FetchError.TOO_COMPLEX) from error
    if "error" in answer:
        raise FeedFailed(answer["error"])
    parse = datetime.fromisoformat
    return [(parse(start), parse(end)) for start, end in answer["busy"]]


@transaction.atomic
def _record_success(
    feed: CalendarFeed,
    changes: dict[str, object],
    busy: Sequence[tuple[datetime, datetime]] | None = None,
) -> None:
    """Replaces the busy times, unless the calendar is unchanged or was removed meanwhile."""
    stored = CalendarFeed.objects.select_for_update().filter(pk=feed.pk)
    if not list(stored):
        return
    now = timezone.now()
    state = {"due_at": now + _with_jitter(INTERVAL), "failures": 0, "error": ""}
    stored.update(**state, attempted_at=now, succeeded_at=now, **changes)
    if busy is None:
        return
    BusyTime.objects.filter(feed=feed).delete()
    times = [
        BusyTime(user=feed.user, feed=feed, starts_at=start, ends_at=end) for start, end in busy
    ]
    BusyTime.objects.bulk_create(times, batch_size=500)


def _record_failure(feed: CalendarFeed, error: str) -> None:
    """Keeps the busy times that are known, and waits twice as long after every failure."""
    log.info("calendar_feed_skipped", host=urlsplit(feed.url).hostname, why=error)
    delay = min(INTERVAL * 2 ** min(feed.failures, 5), MAX_INTERVAL)
    now = timezone.now()
    CalendarFeed.objects.filter(pk=feed.pk).update(
        due_at=now + _with_jitter(delay),
        attempted_at=now,
        error=error,
        failures=F("failures") + 1,
    )


def _with_jitter(delay: timedelta) -> timedelta:
    """Spreads the requests, so that feeds added together are not always fetched together."""
    return delay * random.uniform(0.9, 1.1)
