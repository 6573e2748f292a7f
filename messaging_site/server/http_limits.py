"""Daphne's HTTP connections with request timeouts and a maximum body size."""

from typing import Any

import daphne.server
from daphne.http_protocol import HTTPFactory, WebRequest
from twisted.internet import reactor
from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure
from twisted.web.http import HTTPChannel

from messaging_site.server.limits import MAX_BODY_BYTES
from messaging_site.server.request_timeout import (
    TIMEOUT_RESPONSE,
    RequestTimeouts,
    RequestTimer,
)

TOO_LARGE_RESPONSE = (
    b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
)


class LimitedRequest(WebRequest):
    """Refuses a body that is too large while it arrives: daphne would store all of it first."""

    received_bytes = 0

    def gotLength(self, length: int | None) -> None:
        super().gotLength(0 if self._refuse_above_limit(length or 0) else length)

    def handleContentChunk(self, data: bytes) -> None:
        self.received_bytes += len(data)
        if not self._refuse_above_limit(self.received_bytes):
            super().handleContentChunk(data)

    def _refuse_above_limit(self, size: int) -> bool:
        if size <= MAX_BODY_BYTES:
            return False
        transport = self.channel.transport
        if not transport.disconnecting:
            transport.write(TOO_LARGE_RESPONSE)
            transport.loseConnection()
        return True


class LimitedChannel(HTTPChannel):
    """Disconnects a client whose request arrives too slowly. Twisted closes idle connections."""

    timer: RequestTimer

    def connectionMade(self) -> None:
        super().connectionMade()
        call_later: Any = reactor.callLater
        self.timer = RequestTimer(self.factory.timeouts, call_later, self._time_out)

    def dataReceived(self, data: bytes) -> None:
        self.timer.receive_data()
        super().dataReceived(data)

    def allHeadersReceived(self) -> None:
        self.timer.begin_body()
        super().allHeadersReceived()

    def rawDataReceived(self, data: bytes) -> None:
        self.timer.receive_body(len(data))
        super().rawDataReceived(data)

    def allContentReceived(self) -> None:
        self.timer.begin_response()
        super().allContentReceived()

    def requestDone(self, request: Any) -> None:
        self.timer.finish()
        super().requestDone(request)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.timer.finish()
        super().connectionLost(reason)

    def _time_out(self) -> None:
        transport: Any = self.transport
        transport.write(TIMEOUT_RESPONSE)
        transport.loseConnection()


class LimitedHTTPFactory(HTTPFactory):
    protocol = LimitedChannel

    def __init__(self, server: Any) -> None:
        super().__init__(server)
        self.timeouts = RequestTimeouts.from_settings()

    def buildProtocol(self, addr: Any) -> Any:
        channel = super().buildProtocol(addr)
        channel.requestFactory = LimitedRequest
        return channel

    def log(self, request: Any) -> None:
        """Twisted would format a line for an access log that nobody reads."""


def install_http_limits() -> None:
    """Daphne has no parameter for the factory that its server creates."""
    daphne.server.HTTPFactory = LimitedHTTPFactory
