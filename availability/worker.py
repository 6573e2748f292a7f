"""Background worker that fetches imported calendars, one at a time. Every server process runs one;
a feed is leased, so that only one of them fetches it."""

import threading

import structlog
from django.conf import settings
from django.db import close_old_connections, connection

from availability.feeds import fetch_next

log = structlog.get_logger(__name__)
INTERVAL_SECONDS = 10.0


def run_calendar_feeds(stop: threading.Event) -> None:
    """Runs in a thread of the server until `stop` is set."""
    while settings.FETCH_CALENDARS and not stop.is_set():
        try:
            close_old_connections()
            while not stop.is_set() and fetch_next():
                pass
        except Exception:
            log.exception("calendar_feed_worker_failed")
        stop.wait(INTERVAL_SECONDS)
    connection.close()
