"""The DynamoDB client for the event loop, which does not block while the store works.

A worker thread would cost more than the request itself: it has to be woken, wait for the
interpreter lock and wake the loop again.
"""

import asyncio
import socket
import time
from typing import Any

import orjson
from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    ReadTimeoutError,
)

from core import metrics
from threads.dynamodb.client import SyncClient, parse_endpoint, tls_context
from threads.dynamodb.responses import MAX_IDLE_SECONDS, Response, ResponseReader


class AsyncClient:
    def __init__(self, client: SyncClient) -> None:
        self.endpoint, self._signer = client.endpoint, client.signer
        self._connect_timeout, self._read_timeout = client.timeouts
        self._idle: list[AsyncConnection] = []
        # Connections belong to the event loop on which they were opened.
        self._loop: asyncio.AbstractEventLoop | None = None

    async def call(self, operation: str, arguments: dict[str, Any]) -> Response:
        """Makes one attempt; `Store` decides about retries."""
        credentials = await self._credentials()
        request = self._signer.sign(operation, orjson.dumps(arguments), credentials)
        result = (await self._send(request)).parse(operation)
        if isinstance(result, ClientError):
            raise result
        return result

    async def _credentials(self) -> Any:
        """Fetches missing credentials in a thread, since their provider may be slow."""
        if self._signer.needs_provider():
            return await asyncio.to_thread(self._signer.get_credentials)
        return self._signer.get_credentials()

    async def _send(self, request: bytes) -> ResponseReader:
        connection = self._take_idle() or await self._connect()
        try:
            async with asyncio.timeout(self._read_timeout):
                response = await connection.send(request)
        except TimeoutError as error:
            raise ReadTimeoutError(endpoint_url=self.endpoint, error=error) from error
        except (OSError, ValueError) as error:
            self._close_idle()
            raise ConnectionClosedError(endpoint_url=self.endpoint, error=error) from error
        finally:
            self._give_back(connection)
        return response

    def _take_idle(self) -> "AsyncConnection | None":
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._idle, self._loop = [], loop
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable():
                return connection
            connection.close()
        return None

    async def _connect(self) -> "AsyncConnection":
        metrics.DYNAMODB_CONNECTIONS.inc()
        host, port, use_tls = parse_endpoint(self.endpoint)
        try:
            async with asyncio.timeout(self._connect_timeout):
                _, connection = await asyncio.get_running_loop().create_connection(
                    AsyncConnection, host, port, ssl=tls_context() if use_tls else None
                )
        except TimeoutError as error:
            raise ConnectTimeoutError(endpoint_url=self.endpoint, error=error) from error
        except OSError as error:
            raise EndpointConnectionError(endpoint_url=self.endpoint, error=error) from error
        return connection

    def _close_idle(self) -> None:
        """A server that closed one connection has most likely closed the others, too."""
        idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _give_back(self, connection: "AsyncConnection") -> None:
        if connection.is_usable():
            self._idle.append(connection)
        else:
            connection.close()


class AsyncConnection(asyncio.Protocol):
    """One TCP connection with one request at a time."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self._response = ResponseReader()
        self._done: asyncio.Future[ResponseReader] | None = None
        self._is_reusable, self._used_at = True, time.monotonic()

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        sock = transport.get_extra_info("socket")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, request: bytes) -> asyncio.Future[ResponseReader]:
        done: asyncio.Future[ResponseReader] = asyncio.get_running_loop().create_future()
        self._response, self._done = ResponseReader(), done
        self.transport.write(request)
        return done

    def data_received(self, data: bytes) -> None:
        if self._done is None or self._done.done():
            # No request is pending, or its caller has given up.
            self.close()
            return
        try:
            is_complete = self._response.add(data)
        except ValueError as error:
            self._end(error)
            return
        if is_complete:
            self._is_reusable, self._used_at = not self._response.is_last, time.monotonic()
            self._done.set_result(self._response)

    def connection_lost(self, error: Exception | None) -> None:
        self._end(error or ConnectionError("closed in the middle of a response"))

    def _end(self, error: Exception) -> None:
        self.close()
        if self._done is not None and not self._done.done():
            self._done.set_exception(error)

    def is_usable(self) -> bool:
        """Whether the connection is open and no response is outstanding."""
        is_free = self._done is None or (self._done.done() and not self._done.cancelled())
        is_open = self._is_reusable and not self.transport.is_closing()
        return is_free and is_open and time.monotonic() - self._used_at < MAX_IDLE_SECONDS

    def close(self) -> None:
        self._is_reusable = False
        self.transport.close()
