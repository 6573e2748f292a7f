"""Timeouts for requests that arrive slowly (slowloris), independent of the server.

All headers have to arrive within a time, and the body at a minimum rate.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import structlog
from django.conf import settings

log = structlog.get_logger(__name__)

BODY = b"The request took too long to arrive.\n"
TIMEOUT_RESPONSE = (
    b"HTTP/1.1 408 Request Timeout\r\nContent-Type: text/plain\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n%s" % (len(BODY), BODY)
)

IDLE, HEADERS, RECEIVING_BODY, RESPONSE = "idle", "headers", "body", "response"


class DelayedCall(Protocol):
    def cancel(self) -> None: ...


CallLater = Callable[[float, Callable[[], None]], DelayedCall]


@dataclass(frozen=True)
class RequestTimeouts:
    header_seconds: float
    body_seconds: float
    body_rate: float

    @classmethod
    def from_settings(cls) -> "RequestTimeouts":
        return cls(settings.HEADER_SECONDS, settings.BODY_SECONDS, settings.BODY_RATE)


class RequestTimer:
    """Follows the requests of one connection and calls `on_timeout` when one is too slow."""

    def __init__(
        self, timeouts: RequestTimeouts, call_later: CallLater, on_timeout: Callable[[], Any]
    ) -> None:
        self._timeouts, self._call_later, self._on_timeout = timeouts, call_later, on_timeout
        self._delayed_call: DelayedCall | None = None
        self._deadline = 0.0
        self._phase = IDLE

    def receive_data(self) -> None:
        """The first byte after a response begins the next request."""
        if self._phase == IDLE:
            self._begin(HEADERS, self._timeouts.header_seconds)

    def begin_body(self) -> None:
        self._begin(RECEIVING_BODY, self._timeouts.body_seconds)

    def receive_body(self, size: int) -> None:
        """Each byte extends the deadline by the time that it takes at the minimum rate."""
        if self._phase == RECEIVING_BODY:
            self._deadline += size / self._timeouts.body_rate

    def begin_response(self) -> None:
        self._stop(RESPONSE)

    def finish(self) -> None:
        self._stop(IDLE)

    def _begin(self, phase: str, seconds: float) -> None:
        self._stop(phase)
        self._deadline = time.monotonic() + seconds
        self._delayed_call = self._call_later(seconds, self._check)

    def _stop(self, phase: str) -> None:
        self._phase = phase
        if self._delayed_call is not None:
            self._delayed_call.cancel()
            self._delayed_call = None

    def _check(self) -> None:
        self._delayed_call = None
        remaining = self._deadline - time.monotonic()
        if remaining > 0:
            self._delayed_call = self._call_later(remaining, self._check)
            return
        log.info("slow_request_dropped", phase=self._phase)
        self._phase = RESPONSE
        self._on_timeout()
