"""How long a client may take over sending a request: all of its headers within a time, and its body
at a minimum rate. A connection that sends a byte now and then is not held open for it."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import structlog
from django.conf import settings

log = structlog.get_logger(__name__)

BODY = b"The request took too long to arrive.\n"
TIMEOUT_ANSWER = (
    b"HTTP/1.1 408 Request Timeout\r\nContent-Type: text/plain\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n%s" % (len(BODY), BODY)
)


class Timer(Protocol):
    def cancel(self) -> None: ...


CallLater = Callable[[float, Callable[[], None]], Timer]


@dataclass(frozen=True)
class Limits:
    header_seconds: float
    body_seconds: float
    body_rate: float

    @classmethod
    def of_settings(cls) -> "Limits":
        return cls(settings.HEADER_SECONDS, settings.BODY_SECONDS, settings.BODY_RATE)


class Deadline:
    """Calls `on_late` when the request that is arriving on a connection falls behind its limits."""

    def __init__(self, limits: Limits, call_later: CallLater, on_late: Callable[[], Any]) -> None:
        self._limits, self._call_later, self._on_late = limits, call_later, on_late
        self._timer: Timer | None = None
        self._due_at = 0.0
        self._phase = ""

    @property
    def is_idle(self) -> bool:
        return not self._phase

    def begin_headers(self) -> None:
        self._begin("headers", self._limits.header_seconds)

    def begin_body(self) -> None:
        self._begin("body", self._limits.body_seconds)

    def received(self, size: int) -> None:
        """Every byte of a body buys the time that it takes at the minimum rate."""
        if self._phase == "body":
            self._due_at += size / self._limits.body_rate

    def finish(self) -> None:
        self._phase = ""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _begin(self, phase: str, seconds: float) -> None:
        self.finish()
        self._phase, self._due_at = phase, time.monotonic() + seconds
        self._timer = self._call_later(seconds, self._check)

    def _check(self) -> None:
        self._timer = None
        left = self._due_at - time.monotonic()
        if left > 0:
            self._timer = self._call_later(left, self._check)
            return
        log.info("slow_request_dropped", phase=self._phase)
        self._phase = ""
        self._on_late()
