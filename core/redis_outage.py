"""Detects outages of Redis, so that requests do not wait for it.

Redis holds nothing that clients could not fetch again. After a failure callers skip it, and one at
a time probes whether it is back.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import redis
import structlog

log = structlog.get_logger(__name__)

REDIS_ERRORS = (redis.RedisError, OSError)
# Timeouts of the first request that finds Redis unavailable, and of each probe during an outage.
TIMEOUT_SECONDS, PROBE_TIMEOUT_SECONDS = 2.0, 0.25
# Time between probes.
PROBE_SECONDS = 1.0


class RedisOutage:
    """Whether Redis is unavailable. During an outage only one caller at a time probes it."""

    def __init__(self) -> None:
        self.is_on = False
        self._next_probe = 0.0

    def can_try(self) -> bool:
        if not self.is_on:
            return True
        if time.monotonic() < self._next_probe:
            return False
        self._next_probe = time.monotonic() + PROBE_SECONDS
        return True

    @property
    def timeout_seconds(self) -> float:
        return PROBE_TIMEOUT_SECONDS if self.is_on else TIMEOUT_SECONDS

    @contextmanager
    def tracked(self) -> Iterator[None]:
        """Starts or ends the outage according to the result of the block; errors are re-raised."""
        try:
            yield
        except REDIS_ERRORS as error:
            self.begin(error)
            raise
        self.end()

    def begin(self, error: Exception) -> None:
        if not self.is_on:
            log.warning("redis_unavailable", error=repr(error))
        self.is_on = True
        self._next_probe = time.monotonic() + PROBE_SECONDS

    def end(self) -> None:
        if self.is_on:
            log.info("redis_restored")
        self.is_on = False


# Shared by the whole process.
redis_outage = RedisOutage()
