"""The circuit breaker: while the store does not work, nobody waits for it.

It opens after a number of failures in a row, of all requests of this process. While it is open,
requests fail at once; from time to time one of them is let through as a probe, and the first
success closes it. It logs once when it opens and once when it closes.
"""

import threading
import time

import structlog

from core import metrics

log = structlog.get_logger(__name__)

# One request in ten that is throttled never makes so many in a row.
MAX_FAILURES = 20
MIN_OPEN_SECONDS = 0.5
MAX_OPEN_SECONDS = 2.0


class CircuitBreaker:
    def __init__(self) -> None:
        self.is_open = False
        self._failures = 0
        self._opened_at = self._next_probe_at = 0.0
        self._open_seconds = MIN_OPEN_SECONDS
        self._lock = threading.Lock()

    def allows_attempt(self) -> bool:
        """While it is open, one caller at a time is the probe."""
        if not self.is_open:
            return True
        with self._lock:
            now = time.monotonic()
            if now < self._next_probe_at:
                metrics.BREAKER_REJECTIONS.inc()
                return False
            self._open_seconds = min(MAX_OPEN_SECONDS, 2 * self._open_seconds)
            # A probe that never reports back does not keep the others out.
            self._next_probe_at = now + self._open_seconds
            return True

    def record_failure(self, reason: str) -> None:
        with self._lock:
            self._failures += 1
            if self.is_open or self._failures < MAX_FAILURES:
                return
            self.is_open, self._opened_at = True, time.monotonic()
            self._open_seconds = MIN_OPEN_SECONDS
            self._next_probe_at = self._opened_at + self._open_seconds
        metrics.BREAKER_OPEN.set(1)
        log.error("store_breaker_opened", failures=MAX_FAILURES, reason=reason)

    def record_success(self) -> None:
        if not self._failures:
            return
        with self._lock:
            was_open, self.is_open, self._failures = self.is_open, False, 0
        if was_open:
            metrics.BREAKER_OPEN.set(0)
            log.warning("store_breaker_closed", after=round(time.monotonic() - self._opened_at, 1))
