"""The same way to DynamoDB for the event loop: nobody else waits while the store works.

A thread that asks in the place of it costs more than what it asks for: it is woken, waits for the
interpreter, and wakes the loop again.
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
        # Connections are of the loop on which they were made.
        self._loop: asyncio.AbstractEventLoop | None = None

    async def ask(self, operation: str, arguments: dict[str, Any]) -> Response:
        """One attempt; `Store` decides about others."""
        credentials = await self._credentials()
        request = self._signer.signed(operation, orjson.dumps(arguments), credentials)
        outcome = (await self._send(request)).outcome(operation)
        if isinstance(outcome, ClientError):
            raise outcome
        return outcome

    async def _credentials(self) -> Any:
        """Asked for once: whoever gives them may be slow, and asked again be slow again."""
        if self._signer.wants_credentials():
            return await asyncio.to_thread(self._signer.get_credentials)
        return self._signer.get_credentials()

    async def _send(self, request: bytes) -> ResponseReader:
        line = self._take() or await self._connect()
        try:
            async with asyncio.timeout(self._read_timeout):
                reply = await line.ask(request)
        except TimeoutError as error:
            raise ReadTimeoutError(endpoint_url=self.endpoint, error=error) from error
        except (OSError, ValueError) as error:
            self._close_idle()
            raise ConnectionClosedError(endpoint_url=self.endpoint, error=error) from error
        finally:
            self._give_back(line)
        return reply

    def _take(self) -> "AsyncConnection | None":
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._idle, self._loop = [], loop
        while self._idle:
            line = self._idle.pop()
            if line.is_usable():
                return line
            line.close()
        return None

    async def _connect(self) -> "AsyncConnection":
        metrics.DYNAMODB_CONNECTIONS.inc()
        host, port, is_safe = parse_endpoint(self.endpoint)
        try:
            async with asyncio.timeout(self._connect_timeout):
                _, line = await asyncio.get_running_loop().create_connection(
                    AsyncConnection, host, port, ssl=tls_context() if is_safe else None
                )
        except TimeoutError as error:
            raise ConnectTimeoutError(endpoint_url=self.endpoint, error=error) from error
        except OSError as error:
            raise EndpointConnectionError(endpoint_url=self.endpoint, error=error) from error
        return line

    def _close_idle(self) -> None:
        """Whoever closed one connection has most likely closed the others, too."""
        idle, self._idle = self._idle, []
        for line in idle:
            line.close()

    def _give_back(self, line: "AsyncConnection") -> None:
        if line.is_usable():
            self._idle.append(line)
        else:
            line.close()


class AsyncConnection(asyncio.Protocol):
    """One connection, one request at a time."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self._reply = ResponseReader()
        self._done: asyncio.Future[ResponseReader] | None = None
        self._is_kept, self._used_at = True, time.monotonic()

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        link = transport.get_extra_info("socket")
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, request: bytes) -> asyncio.Future[ResponseReader]:
        done: asyncio.Future[ResponseReader] = asyncio.get_running_loop().create_future()
        self._reply, self._done = ResponseReader(), done
        self.transport.write(request)
        return done

    def data_received(self, data: bytes) -> None:
        if self._done is None or self._done.done():
            # Nobody asked, or nobody waits any longer.
            self.close()
            return
        try:
            is_whole = self._reply.take(data)
        except ValueError as error:
            self._end(error)
            return
        if is_whole:
            self._is_kept, self._used_at = not self._reply.is_last, time.monotonic()
            self._done.set_result(self._reply)

    def connection_lost(self, error: Exception | None) -> None:
        self._end(error or ConnectionError("closed in the middle of an answer"))

    def _end(self, error: Exception) -> None:
        self.close()
        if self._done is not None and not self._done.done():
            self._done.set_exception(error)

    def is_usable(self) -> bool:
        """Nobody has hung up, and nothing is still to come."""
        is_free = self._done is None or (self._done.done() and not self._done.cancelled())
        is_open = self._is_kept and not self.transport.is_closing()
        return is_free and is_open and time.monotonic() - self._used_at < MAX_IDLE_SECONDS

    def close(self) -> None:
        self._is_kept = False
        self.transport.close()
