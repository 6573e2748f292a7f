"""Daphne's HTTP connections with a time limit for the arrival of a request."""

from typing import Any

import daphne.server
from daphne.http_protocol import HTTPFactory
from twisted.internet import reactor
from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure
from twisted.web.http import HTTPChannel

from messaging_site.server.request_timeout import TIMEOUT_ANSWER, Deadline, Limits


class TimedChannel(HTTPChannel):
    """Idle connections are Twisted's to close; from its first byte on, a request has a deadline."""

    deadline: Deadline

    def connectionMade(self) -> None:
        super().connectionMade()
        call_later: Any = reactor.callLater
        self.deadline = Deadline(self.factory.limits, call_later, self._drop)

    def dataReceived(self, data: bytes) -> None:
        if self.deadline.is_idle and not self._handlingRequest:
            self.deadline.begin_headers()
        elif self._transferDecoder is not None:
            self.deadline.received(len(data))
        super().dataReceived(data)

    def allHeadersReceived(self) -> None:
        self.deadline.begin_body()
        super().allHeadersReceived()

    def allContentReceived(self) -> None:
        self.deadline.finish()
        super().allContentReceived()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.deadline.finish()
        super().connectionLost(reason)

    def _drop(self) -> None:
        transport: Any = self.transport
        transport.write(TIMEOUT_ANSWER)
        transport.loseConnection()


class TimedHTTPFactory(HTTPFactory):
    protocol = TimedChannel

    def __init__(self, server: Any) -> None:
        super().__init__(server)
        self.limits = Limits.of_settings()


def limit_arrival() -> None:
    daphne.server.HTTPFactory = TimedHTTPFactory
