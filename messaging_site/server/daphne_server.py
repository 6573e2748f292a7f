"""On daphne, the server that we run on by default: with limits of our own, and in good order."""

# First: daphne chooses the kind of event loop before anything else can.
from daphne.server import Server, twisted_loop  # isort: skip

import asyncio
import os
import signal
import socket
import sys
import time
from collections import defaultdict
from functools import partial
from typing import Any

import structlog
from autobahn.websocket.types import ConnectionDeny
from daphne.endpoints import build_endpoint_description_strings
from daphne.ws_protocol import WebSocketProtocol
from twisted.internet import reactor

from messaging_site.server.drain import (
    DRAIN_MESSAGE,
    DRAIN_SECONDS,
    GOING_AWAY,
    Application,
    Ready,
    draining,
    run_spread,
)
from messaging_site.server.http_limits import limit_arrival
from messaging_site.server.request_body import limit_bodies
from messaging_site.server.websocket_frames import (
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

# Codes with which only a server closes: it leaves, or something is broken.
OF_SERVERS = (GOING_AWAY, 1011)


class ParleyServer(Server):
    """Daphne drops its sockets without a word when it is told to end; this one leaves in order."""

    def __init__(self, *, drain_seconds: float, **options: Any) -> None:
        super().__init__(signal_handlers=False, **options)
        self.drain_seconds = drain_seconds
        self.framer = Framer()
        # Until the end of this turn of the event loop.
        self.unsent: defaultdict[Any, list[bytes]] = defaultdict(list)
        self.ports: list[Any] = []

    def run(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            twisted_loop.add_signal_handler(number, self.told_to_end)
        super().run()

    def listen_success(self, port: Any) -> None:
        super().listen_success(port)
        self.ports.append(port)

    def listen_error(self, failure: Any) -> None:
        print(f"Cannot listen: {failure.getErrorMessage()}", file=sys.stderr)
        self.stop()

    def told_to_end(self) -> None:
        if draining.is_set():
            # Twice means now.
            os._exit(1)
        draining.set()
        log.info("leaving", seconds=self.drain_seconds)
        self.departure = twisted_loop.create_task(self._leave())

    async def _leave(self) -> None:
        sockets = [one for one in self.connections if isinstance(one, WebSocketProtocol)]
        goodbyes = [partial(one.application_queue.put_nowait, DRAIN_MESSAGE) for one in sockets]
        await run_spread(goodbyes, self.drain_seconds)
        for port in self.ports:
            port.stopListening()
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                await self._finished()
        except TimeoutError:
            log.warning("left_something_unfinished")
            # Waiting for its threads would be for ever.
            os._exit(1)
        self.stop()

    async def _finished(self) -> None:
        """Commands and requests are done, and their answers are written."""
        while running := self._running():
            await asyncio.wait(running)
        while reactor.getWriters():  # type: ignore[misc]  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    def _running(self) -> list[asyncio.Future[None]]:
        found = (details.get("application_instance") for details in self.connections.values())
        return [instance for instance in found if instance and not instance.done()]

    def protocol_connected(self, protocol: Any) -> None:
        super().protocol_connected(protocol)
        if draining.is_set() and isinstance(protocol, WebSocketProtocol):
            # Not one of ours, so that a balancer may ask the next server.
            raise ConnectionDeny(503, "This server is leaving.")

    def create_application(self, protocol: Any, scope: Any) -> Any:
        # Daphne believes a header about where the site lies, whoever sent it.
        scope["root_path"] = self.root_path
        if isinstance(protocol, WebSocketProtocol):
            scope["write"] = partial(self._write_now, protocol)
            link = protocol.transport.socket
            link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, KERNEL_TAKES)
        return super().create_application(protocol, scope)

    async def handle_reply(self, protocol: Any, message: dict[str, Any]) -> None:
        if draining.is_set() and message["type"] == "http.response.start":
            # Or the next request on this connection would find nobody.
            message["headers"] = [*message.get("headers", []), (b"connection", b"close")]
        text = message.get("text") if message["type"] == "websocket.send" else None
        if text and protocol.state in (protocol.STATE_CLOSING, protocol.STATE_CLOSED):
            # It goes while something is on its way to it.
            return
        if text and protocol.state == protocol.STATE_OPEN:
            self._write(protocol, text)
            await self._wait_for_reader(protocol)
            return
        # What was said before comes before.
        self._flush(protocol)
        code = message.get("code")
        if code in OF_SERVERS and protocol.state == protocol.STATE_OPEN:
            # By its front door Autobahn closes with no codes but those that browsers may use.
            protocol.sendCloseFrame(code=code)
        else:
            await super().handle_reply(protocol, message)
        if message["type"] == "websocket.send":
            await self._wait_for_reader(protocol)

    # --- Text on an open socket, the usual case

    def _write_now(self, protocol: Any, text: str) -> bool:
        """Unless it is not open, or does not read what it has already."""
        is_ready = protocol.state == protocol.STATE_OPEN
        if not is_ready or _unread_bytes(protocol.transport) > MAX_UNREAD_BYTES:
            return False
        self._write(protocol, text)
        return True

    def _write(self, protocol: Any, text: str) -> None:
        """Autobahn would look at every frame for all that it might be, for every reader; what all
        hear is made into a frame once. And what one hears in one go is written in one."""
        if not self.unsent:
            twisted_loop.call_soon(self._flush_all)
        self.unsent[protocol].append(self.framer.frame(text))

    def _flush_all(self) -> None:
        for protocol in list(self.unsent):
            try:
                self._flush(protocol)
            except Exception:
                log.exception("not_written")
                protocol.dropConnection(abort=True)

    def _flush(self, protocol: Any) -> None:
        frames = self.unsent.pop(protocol, None)
        if not frames or protocol.state != protocol.STATE_OPEN:
            return
        data, transport = b"".join(frames), protocol.transport
        if transport.connected and not transport.disconnecting and not _unread_bytes(transport):
            # At once: Twisted would first ask the kernel to be told when it can.
            written = transport.writeSomeData(data)
            data = data[written:] if isinstance(written, int) else data
        if data:
            transport.write(data)

    async def _wait_for_reader(self, protocol: Any) -> None:
        """Who does not read holds up only their own socket, and loses it: daphne would keep all."""
        deadline = time.monotonic() + MAX_BLOCKED_SECONDS
        while _unread_bytes(protocol.transport) > MAX_UNREAD_BYTES:
            if draining.is_set() or time.monotonic() > deadline:
                log.info("slow_reader_dropped")
                protocol.dropConnection(abort=True)
                return
            await asyncio.sleep(0.05)

    def kill_all_applications(self) -> Any:
        # Daphne takes for granted that each connection still has one.
        for protocol, details in list(self.connections.items()):
            if "application_instance" not in details:
                del self.connections[protocol]
        return super().kill_all_applications()


def _unread_bytes(transport: Any) -> int:
    """What Twisted holds because the kernel takes no more."""
    return len(transport.dataBuffer) - transport.offset + transport._tempDataLen


def run(
    application: Application, *, host: str, port: int, drain_seconds: float, ready: Ready
) -> int:
    limit_bodies()
    limit_arrival()
    server = ParleyServer(
        application=application,
        drain_seconds=drain_seconds,
        endpoints=[
            f"{endpoint}:backlog={BACKLOG}"
            for endpoint in build_endpoint_description_strings(host=host, port=port)
        ],
        websocket_max_message_size=MAX_FRAME,
        websocket_max_frame_size=MAX_FRAME,
        ping_interval=PING_SECONDS,
        ping_timeout=PING_TIMEOUT_SECONDS,
        application_close_timeout=10,
        server_name="parley",
        ready_callable=None,
    )
    server.ready_callable = lambda: ready(*server.listening_addresses[0])
    server.run()
    return 1 if server.abort_start else 0
