"""PostgreSQL connections with timeouts, and detection of outages."""

import threading
import time
from typing import Any

import psycopg
import structlog

log = structlog.get_logger(__name__)

# Timeout of the empty statement with which the pool checks a connection before handing it out.
CHECK_SECONDS = 0.75
PROBE_SECONDS = 1.0


class DatabaseOutage:
    """Whether the server is unavailable. Then one caller per second tries; the others fail."""

    def __init__(self) -> None:
        self.is_on = False
        self._next_probe = 0.0
        self._lock = threading.Lock()

    def can_try(self) -> bool:
        with self._lock:
            if self.is_on and time.monotonic() < self._next_probe:
                return False
            self._next_probe = time.monotonic() + PROBE_SECONDS
            return True

    def begin(self, error: Exception) -> None:
        with self._lock:
            if not self.is_on:
                log.warning("database_unavailable", error=str(error))
            self.is_on = True
            self._next_probe = time.monotonic() + PROBE_SECONDS

    def end(self) -> None:
        with self._lock:
            if self.is_on:
                log.info("database_restored")
            self.is_on = False


outage = DatabaseOutage()


class StatementTimeout(psycopg.OperationalError):
    """A statement exceeded its timeout, or the server does not respond."""


class BoundedConnection(psycopg.Connection[Any]):
    """Enforces timeouts on the client, so that they work when the server stops responding."""

    # None for commands such as migrations; servers set a timeout.
    statement_seconds: float | None = None

    @classmethod
    def connect(cls, *args: Any, **kwargs: Any) -> Any:
        try:
            connection = super().connect(*args, **kwargs)
        except psycopg.OperationalError as error:
            outage.begin(error)
            raise
        outage.end()
        return connection

    def execute(self, query: Any, *args: Any, **kwargs: Any) -> Any:
        if query != "":
            return super().execute(query, *args, **kwargs)
        return self._check(*args, **kwargs)

    def _check(self, *args: Any, **kwargs: Any) -> Any:
        self.statement_seconds = CHECK_SECONDS
        try:
            done = super().execute("", *args, **kwargs)
        except StatementTimeout as error:
            outage.begin(error)
            raise
        finally:
            del self.statement_seconds
        outage.end()
        return done

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        limit = self.statement_seconds
        if timeout is not None or limit is None:
            return super().wait(gen, interval, timeout)
        try:
            return super().wait(gen, interval, limit)
        except psycopg.errors._WaitTimeout as error:
            # The outcome of the statement is unknown, so the connection cannot be reused.
            self.pgconn.finish()
            raise StatementTimeout(f"no answer within {limit} s") from error
