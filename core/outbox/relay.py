"""The relay: a loop in every server that processes due outbox entries.

An action processes its own entries as soon as they are committed. The relay processes the rest: at
start-up and every few seconds, those that a crash, an outage or a postponement left.
"""

import threading

import structlog
from django.db import close_old_connections, connection

from core import metrics
from core.outbox.maintenance import measure_backlog
from core.outbox.processing import process_due

log = structlog.get_logger(__name__)

POLL_SECONDS = 3.0


def run_relay(stop: threading.Event) -> None:
    """Runs in a thread of the server until `stop` is set."""
    while not stop.is_set():
        try:
            close_old_connections()
            while process_due(stop=stop.is_set):
                pass
            update_backlog_metrics()
        except Exception:
            log.exception("relay_failed")
        stop.wait(POLL_SECONDS)
    connection.close()


def update_backlog_metrics() -> None:
    backlog = measure_backlog()
    metrics.OUTBOX_PENDING.set(backlog.pending)
    metrics.OUTBOX_DEAD_LETTERS.set(backlog.dead)
    metrics.OUTBOX_LAG.set(backlog.lag_seconds)
