"""What search does not know yet: noted by whoever changes a thread, kept until it is taken in."""

import threading
import time
from collections import defaultdict
from dataclasses import dataclass

from core.metrics import SEARCH_LAG

_lock = threading.Lock()
# By thread: since when it waits, and which of its messages were changed, once for each change.
_since: dict[str, float] = {}
_changed: dict[str, list[str]] = defaultdict(list)
# Those that are being taken in.
_taking: dict[str, float] = {}


@dataclass(frozen=True)
class QueuedThread:
    thread_id: str
    since: float
    changed: list[str]


def enqueue(thread_id: str, changed: str | None = None) -> None:
    """Cheap, and all that happens on the path of whoever changes something."""
    with _lock:
        _since.setdefault(thread_id, time.monotonic())
        if changed is not None:
            _changed[thread_id].append(changed)


def take_queued() -> list[QueuedThread]:
    """All that waits. Each of them is to be called done, or put back."""
    with _lock:
        noted = [
            QueuedThread(each, since, _changed.pop(each, [])) for each, since in _since.items()
        ]
        _taking.update(_since)
        _since.clear()
    return noted


def requeue(noted: QueuedThread) -> None:
    """It has waited since it was noted first, whatever came meanwhile."""
    with _lock:
        _since[noted.thread_id] = noted.since
        _changed[noted.thread_id] += noted.changed


def mark_done(noted: QueuedThread) -> float:
    """How long it had to wait."""
    with _lock:
        del _taking[noted.thread_id]
    return time.monotonic() - noted.since


def lag_seconds() -> float:
    """Seconds that the oldest change waits which search does not know yet: it grows if it stops."""
    with _lock:
        waiting = [*_since.values(), *_taking.values()]
    return time.monotonic() - min(waiting) if waiting else 0.0


SEARCH_LAG.set_function(lag_seconds)
