"""The DynamoDB client: signed JSON over HTTP/1.1 on persistent connections.

It replaces botocore's client, whose own overhead is several times what the embedded engine needs
for a request. PynamoDB supplies the request body and takes the response as it is; errors are
botocore's, so that callers see no difference. Code on the event loop uses `async_client.py`.
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
    """The client that PynamoDB calls instead of botocore's."""

    def __init__(
        self,
        *,
        region: str,
        endpoint: str | None,
        connect_timeout: float,
        read_timeout: float,
        max_idle: int = 64,
    ) -> None:
        self.endpoint = endpoint or f"https://dynamodb.{region}.amazonaws.com"
        self.signer = Signer(region, urlsplit(self.endpoint).netloc)
        self.timeouts = connect_timeout, read_timeout
        self._max_idle = max_idle
        self._idle: list[SyncConnection] = []
        # Connections are not shared with forked processes.
        self._pid = os.getpid()

    def _make_api_call(self, operation: str, arguments: dict[str, Any]) -> Response:
        """Makes one attempt; `Store` decides about retries."""
        result = self._send(operation, orjson.dumps(arguments)).parse(operation)
        if isinstance(result, ClientError):
            raise result
        return result

    def _send(self, operation: str, body: bytes) -> ResponseReader:
        request = self.signer.sign(operation, body, self.signer.get_credentials())
        connection = self._take_connection()
        try:
            response = connection.send(request)
        except BaseException as error:
            connection.close()
            if isinstance(error, ConnectionClosedError):
                self._close_idle()
            raise
        self._give_back(connection)
        return response

    def _take_connection(self) -> "SyncConnection":
        if self._pid != os.getpid():
            self._idle, self._pid = [], os.getpid()
        with contextlib.suppress(IndexError):
            while True:
                # The most recently used first, so that surplus connections become idle.
                connection = self._idle.pop()
                if connection.is_usable():
                    return connection
                connection.close()
        metrics.DYNAMODB_CONNECTIONS.inc()
        return SyncConnection(self.endpoint, *self.timeouts)

    def _close_idle(self) -> None:
        """A server that closed one connection has most likely closed the others, too."""
        idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _give_back(self, connection: "SyncConnection") -> None:
        if connection.is_reusable and len(self._idle) < self._max_idle:
            self._idle.append(connection)
        else:
            connection.close()


class SyncConnection:
    """One TCP connection with one request at a time."""

    def __init__(self, endpoint: str, connect_timeout: float, read_timeout: float) -> None:
        self.endpoint = endpoint
        host, port, use_tls = parse_endpoint(endpoint)
        try:
            self._socket = socket.create_connection((host, port), connect_timeout)
            if use_tls:
                self._socket = tls_context().wrap_socket(self._socket, server_hostname=host)
        except TimeoutError as error:
            raise ConnectTimeoutError(endpoint_url=endpoint, error=error) from error
        except OSError as error:
            raise EndpointConnectionError(endpoint_url=endpoint, error=error) from error
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.settimeout(read_timeout)
        self.is_reusable = True
        self.used_at = time.monotonic()

    def is_usable(self) -> bool:
        """Whether the connection is open, as far as can be seen without a request."""
        if time.monotonic() - self.used_at > MAX_IDLE_SECONDS:
            return False
        # A TLS socket cannot be polled reliably, so only the idle time counts.
        return isinstance(self._socket, ssl.SSLSocket) or not _is_readable(self._socket)

    def send(self, request: bytes) -> ResponseReader:
        response = ResponseReader()
        try:
            self._socket.sendall(request)
            while not response.add(self._receive()):
                pass
        except TimeoutError as error:
            raise ReadTimeoutError(endpoint_url=self.endpoint, error=error) from error
        except (OSError, ValueError) as error:
            raise ConnectionClosedError(endpoint_url=self.endpoint, error=error) from error
        self.is_reusable, self.used_at = not response.is_last, time.monotonic()
        return response

    def _receive(self) -> bytes:
        part = self._socket.recv(256 * 1024)
        if not part:
            raise ConnectionError("closed in the middle of a response")
        return part

    def close(self) -> None:
        self._socket.close()


def parse_endpoint(endpoint: str) -> tuple[str, int, bool]:
    """Returns host, port, and whether to use TLS."""
    parts = urlsplit(endpoint)
    use_tls = parts.scheme == "https"
    return parts.hostname or "", parts.port or (443 if use_tls else 80), use_tls


def _is_readable(idle: socket.socket) -> bool:
    """An idle connection becomes readable only when the server has closed it."""
    poll = select.poll()
    poll.register(idle, select.POLLIN)
    return bool(poll.poll(0))


@functools.cache
def tls_context() -> ssl.SSLContext:
    return ssl.create_default_context()
