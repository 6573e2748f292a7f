"""Polling with a timeout. Runs before anything is installed, so only the standard library."""

import time
from collections.abc import Callable


def poll_until(condition: Callable[[], bool], timeout: float, *, interval: float = 0.02) -> bool:
    """Whether the condition was met in time."""
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() >= deadline:
            return False
        time.sleep(interval)
    return True
