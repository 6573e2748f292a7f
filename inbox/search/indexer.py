"""Updates the search index in the background, from DynamoDB, never as part of a send.

Every change of a thread in this process enqueues the thread (queue.py); `run_indexer` indexes it a
moment later. Changes that a crash lost or another program made are found by comparing the index
with the table (reconcile.py).
"""

import threading
import time

import structlog
from django.db import close_old_connections, connection

from inbox.search.index import Pause, index_thread, no_pause, throttle
from inbox.search.queue import QueuedThread, mark_done, requeue, take_queued
from inbox.search.reconcile import reconcile_index

log = structlog.get_logger(__name__)

INTERVAL_SECONDS = 1.0
RECONCILE_INTERVAL_SECONDS = 600.0


def run_indexer(stop: threading.Event) -> None:
    """The server runs this in a separate thread."""
    next_reconcile = 0.0
    while not stop.is_set():
        try:
            close_old_connections()
            index_queued(stop.wait)
            if time.monotonic() >= next_reconcile:
                reconcile_index(stop.wait)
                next_reconcile = time.monotonic() + RECONCILE_INTERVAL_SECONDS
        except Exception:
            log.exception("indexer_failed")
        stop.wait(INTERVAL_SECONDS)
    connection.close()


def index_queued(pause: Pause = no_pause) -> int:
    """Indexes the queued threads; a failed one is retried in the next round."""
    batch = take_queued()
    slowest = 0.0
    for queued in batch:
        began = time.monotonic()
        _index_one(queued, pause)
        slowest = max(slowest, mark_done(queued))
        throttle(pause, began)
    if batch:
        log.info("search_indexed", threads=len(batch), lag_seconds=round(slowest, 3))
    return len(batch)


def _index_one(queued: QueuedThread, pause: Pause) -> None:
    try:
        index_thread(queued.thread_id, queued.changed, pause=pause)
    except Exception:
        log.exception("search_index_failed", thread=queued.thread_id)
        requeue(queued)
