"""Cleanup: deletes expired data, and completes what a crash left between a message and its files
or its pack. AWS deletes expired items itself; the embedded engine does not."""

import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import structlog
from django.conf import settings
from django.db import close_old_connections, connections
from pynamodb.exceptions import DeleteError

from core.outbox.maintenance import delete_done
from files.cleanup import delete_unused_files, list_unsettled_uses
from files.exports import delete_expired_exports
from threads.archive.archiver import run_checks
from threads.dynamodb.table import Item, connection
from threads.file_access import resolve_message_id
from threads.registry import cleanup_jobs

log = structlog.get_logger(__name__)
SCAN_PAGE_SIZE = 1000
INTERVAL_SECONDS = 3600.0
# The send of a younger reservation or check may still be in progress.
MIN_AGE = timedelta(hours=1)


def run_cleanup(stop: threading.Event) -> None:
    """Runs the cleanup periodically, in a thread of the server."""
    while not stop.wait(INTERVAL_SECONDS):
        try:
            close_old_connections()
            reconcile_files()
            delete_unused_files()
            delete_expired_exports()
            delete_done(timedelta(days=settings.OUTBOX_DAYS))
            run_checks(datetime.now(UTC) - MIN_AGE)
        except Exception:
            log.exception("cleanup_failed")
        connections["default"].close()


def reconcile_files() -> int:
    """Attaches reserved files to their message if it was stored, and releases them otherwise."""
    uses = list_unsettled_uses(MIN_AGE)
    for use in uses:
        if not resolve_message_id(use.file, use):
            use.delete()
    return len(uses) + sum(job() for job in cleanup_jobs)


def delete_expired_items() -> int:
    """Deletes expired items and returns how many. Scans the whole table: only for maintenance."""
    deleted = 0
    for raw in _expired(now := int(time.time())):
        item = Item(raw["pk"]["S"], raw["sk"]["S"])
        try:
            # Fails if the item was written again since it was read.
            item.delete(Item.ttl <= now)
            deleted += 1
        except DeleteError as error:
            if error.cause_response_code != "ConditionalCheckFailedException":
                raise
    return deleted


def _expired(now: int) -> Iterator[dict[str, Any]]:
    start = None
    while True:
        page = connection().scan(
            filter_condition=Item.ttl <= now,
            attributes_to_get=["pk", "sk"],
            limit=SCAN_PAGE_SIZE,
            exclusive_start_key=start,
        )
        yield from page["Items"]
        start = page.get("LastEvaluatedKey")
        if start is None:
            return
