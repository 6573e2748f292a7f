"""On uvicorn: less work for each frame than daphne, and otherwise the same in every respect."""

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import MutableMapping
from functools import partial
from typing import Any

import structlog
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from messaging_site.servers.drain import (
    DRAIN_MESSAGE,
    DRAIN_SECONDS,
    Application,
    Message,
    Ready,
    Receive,
    Send,
    draining,
    run_spread,
)
from messaging_site.servers.request_bodies import bounded
from messaging_site.servers.slow_requests import TIMEOUT_ANSWER, Deadline, Limits
from messaging_site.servers.websocket_frames import (
    BACKLOG,
    KERNEL_TAKES,
    MAX_BLOCKED_SECONDS,
    MAX_FRAME,
    MAX_UNREAD_BYTES,
    PING_SECONDS,
    PING_TIMEOUT_SECONDS,
    Framer,
)

log = structlog.get_logger(__name__)

# Until the last socket has answered that it is closed.
FAREWELL = 3.0
# The first line of a request and its headers.
MOST_ASKED = 64 * 1024

framer = Framer()


class Http(HttpToolsProtocol):
    """Whoever never comes to the end of what they ask for is not listened to for ever."""

    is_asking, asked = True, 0
    deadline: Deadline

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.deadline = Deadline(Limits.of_settings(), self.loop.call_later, self._drop)

    def connection_lost(self, exc: Exception | None) -> None:
        self.deadline.finish()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.is_asking, self.asked = True, 0
        self.deadline.begin_headers()

    def on_headers_complete(self) -> None:
        self.is_asking = False
        self.deadline.begin_body()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self.deadline.received(len(body))
        super().on_body(body)

    def on_message_complete(self) -> None:
        self.deadline.finish()
        super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        self.deadline.finish()
        super().handle_websocket_upgrade()

    def _drop(self) -> None:
        self.transport.write(TIMEOUT_ANSWER)
        self.transport.close()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self.asked += len(data)
        if self.is_asking and self.asked > MOST_ASKED and not self.transport.is_closing():
            self.send_400_response("That is too much to ask for.")


class Socket(WebSocketsSansIOProtocol):
    """Text is framed once for all who hear it, and who does not read loses the connection."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=MAX_UNREAD_BYTES)
        link = transport.get_extra_info("socket")
        link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, KERNEL_TAKES)

    def handle_connect(self, event: Any) -> None:
        if not draining.is_set():
            super().handle_connect(event)
            return
        # Not one of ours, so that a balancer may ask the next server.
        self.handshake_complete = self.close_sent = True
        self.conn.send_response(self.conn.reject(503, "This server is leaving.\n"))
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.transport.close()

    async def run_asgi(self) -> None:
        scope: Any = self.scope
        scope["write"] = self._write_now
        await super().run_asgi()

    def _write_now(self, text: str) -> bool:
        """Unless it is not open, or does not read what it has already."""
        is_open = self.handshake_complete and not (self.close_sent or self.disconnected)
        if not is_open or self.transport.is_closing() or not self.writable.is_set():
            return False
        self.transport.write(framer.frame(text))
        return True

    async def send(self, message: Any) -> None:
        if self.close_sent or self.disconnected or self.transport.is_closing():
            # It went while something was on its way to it.
            return
        text = message.get("text")
        if text and self.handshake_complete:
            self.transport.write(framer.frame(text))
            if not self.writable.is_set():
                await self._wait_for_reader()
        else:
            await super().send(message)

    async def _wait_for_reader(self) -> None:
        """Who does not read holds up only their own socket, and loses it."""
        timeout = 0 if draining.is_set() else MAX_BLOCKED_SECONDS
        try:
            async with asyncio.timeout(timeout):
                await self.writable.wait()
        except TimeoutError:
            log.info("slow_reader_dropped")
            self.transport.abort()


class Server(uvicorn.Server):
    """Uvicorn closes its sockets all at once when it is told to end; this one leaves in order."""

    def __init__(self, config: uvicorn.Config, *, drain_seconds: float, ready: Ready) -> None:
        super().__init__(config)
        self.drain_seconds, self.ready = drain_seconds, ready

    async def serve(self, sockets: Any = None) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.told_to_end)
        await self._serve(sockets)

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        # Answers have the date from the first one on.
        await self.on_tick(0)
        self.ready(*self.servers[0].sockets[0].getsockname()[:2])

    def told_to_end(self) -> None:
        if draining.is_set():
            # Twice means now.
            os._exit(1)
        draining.set()
        log.info("leaving", seconds=self.drain_seconds)
        self.departure = asyncio.get_running_loop().create_task(self._leave())

    async def _leave(self) -> None:
        sockets: list[Any] = [
            one for one in self.server_state.connections if isinstance(one, Socket)
        ]
        await run_spread(
            [partial(one.queue.put_nowait, DRAIN_MESSAGE) for one in sockets], self.drain_seconds
        )
        for server in self.servers:
            server.close()
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                while self.server_state.tasks:
                    await asyncio.wait(list(self.server_state.tasks))
        except TimeoutError:
            log.warning("left_something_unfinished")
            # Waiting for its threads would be for ever.
            os._exit(1)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FAREWELL):
                # Cut off before it has answered, a client may never see why.
                while any(isinstance(one, Socket) for one in self.server_state.connections):  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
        self.should_exit = True


def closing(application: Application) -> Application:
    """When we leave, a connection ends with its answer, or the next request on it would find
    nobody."""

    async def run(scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        async def send_and_close(message: Message) -> None:
            if draining.is_set() and message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), (b"connection", b"close")]
            await send(message)

        await application(scope, receive, send_and_close if scope["type"] == "http" else send)

    return run


def run(
    application: Application, *, host: str, port: int, drain_seconds: float, ready: Ready
) -> int:
    config = uvicorn.Config(
        closing(bounded(application)),
        host=host,
        port=port,
        loop="uvloop",
        http=Http,
        ws=Socket,
        ws_max_size=MAX_FRAME,
        ws_ping_interval=PING_SECONDS,
        ws_ping_timeout=PING_TIMEOUT_SECONDS,
        ws_per_message_deflate=False,
        lifespan="off",
        # Who is believed about where people come from is our own setting.
        proxy_headers=False,
        server_header=False,
        headers=[("server", "parley")],
        backlog=BACKLOG,
        log_config=None,
        access_log=False,
    )
    server = Server(config, drain_seconds=drain_seconds, ready=ready)
    try:
        server.run()
    except SystemExit:
        print(f"Cannot listen on {host}:{port}.", file=sys.stderr)
        return 1
    return 0
