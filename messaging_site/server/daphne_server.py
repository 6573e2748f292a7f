"""Daphne with graceful shutdown, limits for slow clients and fast broadcasts."""

# First: daphne.server installs the asyncio reactor before Twisted chooses another one.
from daphne.server import Server, twisted_loop  # isort: skip

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from socket import SO_SNDBUF, SOL_SOCKET
from typing import Any

import structlog
from autobahn.websocket.types import ConnectionDeny
from daphne.endpoints import build_endpoint_description_strings
from daphne.ws_protocol import WebSocketProtocol
from twisted.internet import reactor

from messaging_site.server import limits
from messaging_site.server.drain import (
    DRAIN_MESSAGE,
    GOING_AWAY,
    MAX_FINISH_SECONDS,
    Application,
    drainable,
    draining,
    in_progress,
    run_spread,
)
from messaging_site.server.http_limits import install_http_limits
from messaging_site.server.websocket_writer import WebSocketWriter

log = structlog.get_logger(__name__)

INTERNAL_ERROR = 1011
# Autobahn's sendClose() accepts only the codes that browsers may use.
SERVER_CLOSE_CODES = (GOING_AWAY, INTERNAL_ERROR)

# Called with host and port once the server is listening.
OnReady = Callable[[str, int], None]


class GracefulServer(Server):
    """Daphne drops its connections on SIGTERM; this server drains them."""

    def __init__(self, *, drain_seconds: float, **options: Any) -> None:
        super().__init__(signal_handlers=False, **options)
        self.drain_seconds = drain_seconds
        self.writer = WebSocketWriter()
        # What each open socket has received and the application has not read yet.
        self.input_queues: dict[WebSocketProtocol, asyncio.Queue[Any]] = {}
        self.ports: list[Any] = []
        # Whether a connection or its application has ended since the last check.
        self.has_ended = False

    def run(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            twisted_loop.add_signal_handler(number, self.shut_down)
        super().run()

    def listen_success(self, port: Any) -> None:
        super().listen_success(port)
        self.ports.append(port)

    def listen_error(self, failure: Any) -> None:
        print(f"Cannot listen: {failure.getErrorMessage()}", file=sys.stderr)
        self.stop()

    # --- Graceful shutdown

    def shut_down(self) -> None:
        if draining.is_set():
            # The second signal ends the process at once.
            os._exit(1)
        draining.set()
        log.info("drain_started", seconds=self.drain_seconds)
        self.drain_task = twisted_loop.create_task(self._drain())

    async def _drain(self) -> None:
        queues = self.input_queues.values()
        closings = [partial(queue.put_nowait, DRAIN_MESSAGE) for queue in queues]
        await run_spread(closings, self.drain_seconds)
        for port in self.ports:
            port.stopListening()
        try:
            async with asyncio.timeout(MAX_FINISH_SECONDS):
                await self._finish()
        except TimeoutError:
            log.warning("drain_timed_out", in_progress=len(in_progress))
            # A normal exit would wait for the application's threads.
            os._exit(1)
        self.stop()

    async def _finish(self) -> None:
        while in_progress:
            await asyncio.wait(in_progress)
        # Responses and close frames are written.
        while reactor.getWriters():  # type: ignore[misc]  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    def kill_all_applications(self) -> Any:
        # Daphne expects an application on every connection, also on idle ones.
        for protocol, details in list(self.connections.items()):
            if "application_instance" not in details:
                del self.connections[protocol]
        return super().kill_all_applications()

    # --- Connections

    def protocol_connected(self, protocol: Any) -> None:
        super().protocol_connected(protocol)
        if draining.is_set() and isinstance(protocol, WebSocketProtocol):
            # 503 makes a load balancer try the next server.
            raise ConnectionDeny(503, "This server is shutting down.")

    def protocol_disconnected(self, protocol: Any) -> None:
        self.has_ended = True
        self.input_queues.pop(protocol, None)
        super().protocol_disconnected(protocol)

    def create_application(self, protocol: Any, scope: Any) -> Any:
        # Daphne takes it from the header Daphne-Root-Path, which any client can send.
        scope["root_path"] = self.root_path
        if not isinstance(protocol, WebSocketProtocol):
            return self._create_application(protocol, scope)
        scope["write"] = partial(self.writer.try_write, protocol)
        connection = protocol.transport.getHandle()
        connection.setsockopt(SOL_SOCKET, SO_SNDBUF, limits.SEND_BUFFER_BYTES)
        queue = self._create_application(protocol, scope)
        self.input_queues[protocol] = queue
        return queue

    def _create_application(self, protocol: Any, scope: Any) -> Any:
        queue = super().create_application(protocol, scope)
        if queue is not None:
            application = self.connections[protocol]["application_instance"]
            application.add_done_callback(self._record_end)
        return queue

    def _record_end(self, application: Any) -> None:
        self.has_ended = True

    # --- Daphne's checks of all connections, which cost most with many idle sockets

    def application_checker(self) -> None:
        """Every second, but only if something has ended."""
        if not self.has_ended:
            twisted_loop.call_later(1, self.application_checker)
            return
        super().application_checker()
        # An application may take some time to end after its connection.
        self.has_ended = any("disconnected" in one for one in self.connections.values())

    def timeout_checker(self) -> None:
        for protocol in list(self.connections):
            protocol.check_timeouts()
        twisted_loop.call_later(limits.TIMEOUT_CHECK_SECONDS, self.timeout_checker)

    async def handle_reply(self, protocol: Any, message: dict[str, Any]) -> None:
        if isinstance(protocol, WebSocketProtocol):
            await self._reply_to_socket(protocol, message)
        else:
            await super().handle_reply(protocol, message)

    async def _reply_to_socket(self, socket: Any, message: dict[str, Any]) -> None:
        is_open = socket.state == socket.STATE_OPEN
        text = message.get("text") if message["type"] == "websocket.send" else None
        if text and socket.state in (socket.STATE_CLOSING, socket.STATE_CLOSED):
            # The socket was closed after the application had decided to send.
            return
        if text and is_open:
            self.writer.write(socket, text)
        else:
            # Frames written earlier are sent first.
            self.writer.flush(socket)
            if is_open and message.get("code") in SERVER_CLOSE_CODES:
                socket.sendCloseFrame(code=message["code"])
            else:
                await super().handle_reply(socket, message)
        if message["type"] == "websocket.send":
            await self.writer.wait_for_reader(socket)


def run(
    application: Application, *, host: str, port: int, drain_seconds: float, on_ready: OnReady
) -> int:
    """Serves until it is shut down. Returns the exit code."""
    install_http_limits()
    # Autobahn's own method formats a debug message for every read, also if nothing is logged.
    WebSocketProtocol.dataReceived = WebSocketProtocol._dataReceived
    endpoints = build_endpoint_description_strings(host=host, port=port)
    server = GracefulServer(
        application=drainable(application),
        drain_seconds=drain_seconds,
        endpoints=[f"{endpoint}:backlog={limits.LISTEN_BACKLOG}" for endpoint in endpoints],
        websocket_max_message_size=limits.MAX_WEBSOCKET_FRAME_BYTES,
        websocket_max_frame_size=limits.MAX_WEBSOCKET_FRAME_BYTES,
        ping_interval=limits.PING_INTERVAL_SECONDS,
        ping_timeout=limits.PING_TIMEOUT_SECONDS,
        application_close_timeout=10,
        server_name="parley",
    )
    server.ready_callable = lambda: on_ready(*server.listening_addresses[0])
    server.run()
    return 1 if server.abort_start else 0
