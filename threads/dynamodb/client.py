"""The way to DynamoDB: its JSON over HTTP/1.1, signed, on connections that are kept.

In the place of botocore's client, whose own work costs several times what the embedded engine needs
for a request. What PynamoDB hands over is the body of the request already, and what comes back is
what it wants; errors are botocore's, so that nobody else notices the difference. For whoever is on
the event loop there is `async_client.py`.
"""

import contextlib
import functools
import os
import select
import socket
import ssl
import time
from typing import Any
from urllib.parse import urlsplit

import orjson
from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    ReadTimeoutError,
)

from core import metrics
from threads.dynamodb.responses import MAX_IDLE_SECONDS, Response, ResponseReader
from threads.dynamodb.signing import Signer


class SyncClient:
    """What PynamoDB calls in the place of botocore's client."""

    def __init__(
        self,
        *,
        region: str,
        endpoint: str | None,
        connect_timeout: float,
        read_timeout: float,
        most_idle: int = 64,
    ) -> None:
        self.endpoint = endpoint or f"https://dynamodb.{region}.amazonaws.com"
        self.signer = Signer(region, urlsplit(self.endpoint).netloc)
        self.timeouts = connect_timeout, read_timeout
        self._most_idle = most_idle
        self._idle: list[SyncConnection] = []
        # Connections are not shared with a process that was forked off.
        self._pid = os.getpid()

    def _make_api_call(self, operation: str, arguments: dict[str, Any]) -> Response:
        """One attempt; `Store` decides about others."""
        outcome = self._send(operation, orjson.dumps(arguments)).outcome(operation)
        if isinstance(outcome, ClientError):
            raise outcome
        return outcome

    def _send(self, operation: str, body: bytes) -> ResponseReader:
        request = self.signer.signed(operation, body, self.signer.get_credentials())
        line = self._take()
        try:
            reply = line.ask(request)
        except BaseException as error:
            line.close()
            if isinstance(error, ConnectionClosedError):
                self._close_idle()
            raise
        self._give_back(line)
        return reply

    def _take(self) -> "SyncConnection":
        if self._pid != os.getpid():
            self._idle, self._pid = [], os.getpid()
        with contextlib.suppress(IndexError):
            while True:
                # The one used last: the others may be closed some day.
                line = self._idle.pop()
                if line.is_usable():
                    return line
                line.close()
        metrics.DYNAMODB_CONNECTIONS.inc()
        return SyncConnection(self.endpoint, *self.timeouts)

    def _close_idle(self) -> None:
        """Whoever closed one connection has most likely closed the others, too."""
        idle, self._idle = self._idle, []
        for line in idle:
            line.close()

    def _give_back(self, line: "SyncConnection") -> None:
        if line.is_kept and len(self._idle) < self._most_idle:
            self._idle.append(line)
        else:
            line.close()


class SyncConnection:
    """One connection, one request at a time."""

    def __init__(self, endpoint: str, connect_timeout: float, read_timeout: float) -> None:
        self.endpoint = endpoint
        host, port, is_safe = parse_endpoint(endpoint)
        try:
            self._socket = socket.create_connection((host, port), connect_timeout)
            if is_safe:
                self._socket = tls_context().wrap_socket(self._socket, server_hostname=host)
        except TimeoutError as error:
            raise ConnectTimeoutError(endpoint_url=endpoint, error=error) from error
        except OSError as error:
            raise EndpointConnectionError(endpoint_url=endpoint, error=error) from error
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.settimeout(read_timeout)
        self.is_kept = True
        self.used_at = time.monotonic()

    def is_usable(self) -> bool:
        """Nobody has hung up, as far as can be seen without asking."""
        if time.monotonic() - self.used_at > MAX_IDLE_SECONDS:
            return False
        # TLS gives no such glance; there the clock decides.
        return isinstance(self._socket, ssl.SSLSocket) or not _has_news(self._socket)

    def ask(self, request: bytes) -> ResponseReader:
        reply = ResponseReader()
        try:
            self._socket.sendall(request)
            while not reply.take(self._receive()):
                pass
        except TimeoutError as error:
            raise ReadTimeoutError(endpoint_url=self.endpoint, error=error) from error
        except (OSError, ValueError) as error:
            raise ConnectionClosedError(endpoint_url=self.endpoint, error=error) from error
        self.is_kept, self.used_at = not reply.is_last, time.monotonic()
        return reply

    def _receive(self) -> bytes:
        part = self._socket.recv(256 * 1024)
        if not part:
            raise ConnectionError("closed in the middle of an answer")
        return part

    def close(self) -> None:
        self._socket.close()


def parse_endpoint(endpoint: str) -> tuple[str, int, bool]:
    """Host, port, and whether it is TLS."""
    parts = urlsplit(endpoint)
    is_safe = parts.scheme == "https"
    return parts.hostname or "", parts.port or (443 if is_safe else 80), is_safe


def _has_news(idle: socket.socket) -> bool:
    """Of a connection on which nothing was asked there is only one kind: it has ended."""
    glance = select.poll()
    glance.register(idle, select.POLLIN)
    return bool(glance.poll(0))


@functools.cache
def tls_context() -> ssl.SSLContext:
    return ssl.create_default_context()
