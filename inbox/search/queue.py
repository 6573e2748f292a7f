"""The in-memory queue of threads that the search indexer has to process."""

import threading
import time
from collections import defaultdict
from dataclasses import dataclass

from core.metrics import SEARCH_LAG

_lock = threading.Lock()
# By thread: when it was enqueued, and the changed messages, one entry for each change.
_waiting_since: dict[str, float] = {}
_changed: dict[str, list[str]] = defaultdict(list)
# Threads that are being indexed.
_in_progress: dict[str, float] = {}


@dataclass(frozen=True)
class QueuedThread:
    thread_id: str
    since: float
    changed: list[str]


def enqueue(thread_id: str, changed: str | None = None) -> None:
    """Called on every change, so it must be cheap."""
    with _lock:
        _waiting_since.setdefault(thread_id, time.monotonic())
        if changed is not None:
            _changed[thread_id].append(changed)


def take_queued() -> list[QueuedThread]:
    """Takes the whole queue. The caller must call `mark_done` for each entry."""
    with _lock:
        queued = [
            QueuedThread(each, since, _changed.pop(each, []))
            for each, since in _waiting_since.items()
        ]
        _in_progress.update(_waiting_since)
        _waiting_since.clear()
    return queued


def requeue(queued: QueuedThread) -> None:
    """Keeps the time when the thread was first enqueued."""
    with _lock:
        _waiting_since[queued.thread_id] = queued.since
        _changed[queued.thread_id] += queued.changed


def mark_done(queued: QueuedThread) -> float:
    """Returns the seconds since it was enqueued."""
    with _lock:
        del _in_progress[queued.thread_id]
    return time.monotonic() - queued.since


def lag_seconds() -> float:
    """Age of the oldest change that is not indexed yet. It grows while the indexer is stopped."""
    with _lock:
        waiting = [*_waiting_since.values(), *_in_progress.values()]
    return time.monotonic() - min(waiting) if waiting else 0.0


SEARCH_LAG.set_function(lag_seconds)
