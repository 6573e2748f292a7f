"""Connections to PostgreSQL that wait a limited time, and whether the server answers at all."""

import threading
import time
from typing import Any

import psycopg
import structlog

log = structlog.get_logger(__name__)

# The pool sends an empty statement before it hands a connection out; this is its time limit.
CHECK_SECONDS = 0.75
PROBE_SECONDS = 1.0


class DatabaseOutage:
    """Whether the server answers. While it does not, one caller a second tries; others fail."""

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
                log.warning("database_away", error=str(error))
            self.is_on = True
            self._next_probe = time.monotonic() + PROBE_SECONDS

    def end(self) -> None:
        with self._lock:
            if self.is_on:
                log.info("database_back")
            self.is_on = False


outage = DatabaseOutage()


class NoAnswer(psycopg.OperationalError):
    """A statement took longer than its time limit, or the server does not respond."""


class BoundedConnection(psycopg.Connection[Any]):
    """Waits for an answer for a limited time, also when the server has stopped responding."""

    # No limit for commands such as migrations; a server process sets one.
    statement_seconds: float | None = None

    @classmethod
    def connect(cls, *given: Any, **named: Any) -> Any:
        try:
            connection = super().connect(*given, **named)
        except psycopg.OperationalError as error:
            outage.begin(error)
            raise
        outage.end()
        return connection

    def execute(self, query: Any, *given: Any, **named: Any) -> Any:
        if query != "":
            return super().execute(query, *given, **named)
        return self._check(*given, **named)

    def _check(self, *given: Any, **named: Any) -> Any:
        self.statement_seconds = CHECK_SECONDS
        try:
            done = super().execute("", *given, **named)
        except NoAnswer as error:
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
            # What became of the statement is unknown: the connection cannot be used again.
            self.pgconn.finish()
            raise NoAnswer(f"no answer within {limit} s") from error
