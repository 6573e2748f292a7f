"""How the index of search gets what it holds: after the fact, from the table, never while sending.

Whoever changes a thread in this process notes it (`noting`); a thread of the server takes in what
was noted (`indexing`), a moment later. What a crash forgot, or another program wrote, is found by
comparing with the table (`comparing`).
"""

import threading
import time

import structlog
from django.db import close_old_connections, connection

from inbox.search.index import Pause, index_thread, no_pause, throttle
from inbox.search.queue import QueuedThread, mark_done, requeue, take_queued
from inbox.search.reconcile import reconcile_index

log = structlog.get_logger(__name__)

EVERY = 1.0
COMPARE_EVERY = 600.0


def run_indexer(stop: threading.Event) -> None:
    """The server runs this in a thread of its own."""
    next_comparison = 0.0
    while not stop.is_set():
        try:
            close_old_connections()
            index_queued(stop.wait)
            if time.monotonic() >= next_comparison:
                reconcile_index(stop.wait)
                next_comparison = time.monotonic() + COMPARE_EVERY
        except Exception:
            log.exception("search_feeder_failed")
        stop.wait(EVERY)
    connection.close()


def index_queued(pause: Pause = no_pause) -> int:
    """Takes in what was noted; what fails waits for the next round."""
    round_of_all = take_queued()
    slowest = 0.0
    for noted in round_of_all:
        began = time.monotonic()
        _take_in(noted, pause)
        slowest = max(slowest, mark_done(noted))
        throttle(pause, began)
    if round_of_all:
        log.info("search_fed", threads=len(round_of_all), lag_seconds=round(slowest, 3))
    return len(round_of_all)


def _take_in(noted: QueuedThread, pause: Pause) -> None:
    try:
        index_thread(noted.thread_id, noted.changed, pause=pause)
    except Exception:
        log.exception("search_feed_failed", thread=noted.thread_id)
        requeue(noted)
