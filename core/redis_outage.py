"""Redis only carries hints, so nobody waits for it: what did not answer is left alone a moment."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import redis
import structlog

log = structlog.get_logger(__name__)

REDIS_ERRORS = (redis.RedisError, OSError)
# How long the first waits who finds it away, and how long those do who look whether it is back.
TIMEOUT_SECONDS, PROBE_TIMEOUT_SECONDS = 2.0, 0.25
# Between one look and the next.
PROBE_SECONDS = 1.0


class RedisOutage:
    """Whether something is away. It is always one alone who looks whether it is back."""

    def __init__(self) -> None:
        self.is_on = False
        self._next_look = 0.0

    def can_try(self) -> bool:
        if not self.is_on:
            return True
        if time.monotonic() < self._next_look:
            return False
        self._next_look = time.monotonic() + PROBE_SECONDS
        return True

    @property
    def timeout_seconds(self) -> float:
        return PROBE_TIMEOUT_SECONDS if self.is_on else TIMEOUT_SECONDS

    @contextmanager
    def tracked(self) -> Iterator[None]:
        """What is tried in here shows whether it is away. What went wrong is raised again."""
        try:
            yield
        except REDIS_ERRORS as error:
            self.begin(error)
            raise
        self.end()

    def begin(self, error: Exception) -> None:
        if not self.is_on:
            log.warning("redis_away", error=repr(error))
        self.is_on = True
        self._next_look = time.monotonic() + PROBE_SECONDS

    def end(self) -> None:
        if self.is_on:
            log.info("redis_back")
        self.is_on = False


# One for the process: what delivery found, presence need not find again.
redis_outage = RedisOutage()
