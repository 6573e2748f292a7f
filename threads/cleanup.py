"""Removing what has expired (AWS does it by itself, the embedded engine never does), and settling
what a crash left between a message and its files, or its place in the archive."""

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
PAGE = 1000
EVERY = 3600.0
# Sooner, a message may still be on its way.
UNSETTLED = timedelta(hours=1)


def run_cleanup(stop: threading.Event) -> None:
    """The server runs this in a thread of its own."""
    while not stop.wait(EVERY):
        try:
            close_old_connections()
            reconcile_files()
            delete_unused_files()
            delete_expired_exports()
            delete_done(timedelta(days=settings.OUTBOX_DAYS))
            run_checks(datetime.now(UTC) - UNSETTLED)
        except Exception:
            log.exception("files_not_swept")
        connections["default"].close()


def reconcile_files() -> int:
    """Files reserved for a message belong to it if it was stored, and are free again otherwise."""
    uses = list_unsettled_uses(UNSETTLED)
    for use in uses:
        if not resolve_message_id(use.file, use):
            use.delete()
    return len(uses) + sum(job() for job in cleanup_jobs)


def delete_expired_items() -> int:
    """How many went. The one place that reads the whole table: maintenance, not a page."""
    swept = 0
    for raw in _expired(now := int(time.time())):
        item = Item(raw["pk"]["S"], raw["sk"]["S"])
        try:
            # Unless it was written anew since it was read.
            item.delete(Item.ttl <= now)
            swept += 1
        except DeleteError as error:
            if error.cause_response_code != "ConditionalCheckFailedException":
                raise
    return swept


def _expired(now: int) -> Iterator[dict[str, Any]]:
    start = None
    while True:
        page = connection().scan(
            filter_condition=Item.ttl <= now,
            attributes_to_get=["pk", "sk"],
            limit=PAGE,
            exclusive_start_key=start,
        )
        yield from page["Items"]
        start = page.get("LastEvaluatedKey")
        if start is None:
            return
