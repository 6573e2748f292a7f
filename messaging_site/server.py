"""Serve the site: daphne, with limits of our own. `python -m messaging_site.server --port 8000`"""

# First: daphne chooses the kind of event loop before anything else can.
from daphne.server import Server, twisted_loop  # isort: skip

import argparse
import asyncio
import os
import signal
import sys
import threading
import time
from functools import partial
from importlib import import_module
from typing import Any

import structlog
from autobahn.websocket.types import ConnectionDeny
from daphne.endpoints import build_endpoint_description_strings
from daphne.ws_protocol import WebSocketProtocol
from twisted.internet import reactor

from messaging_site.bodies import limit_bodies
from messaging_site.leaving import GOING_AWAY, LEAVE, leaving, spread, told_to_leave

log = structlog.get_logger(__name__)

APPLICATION = "messaging_site.asgi:application"
# Both ways: what we send has at most this. Of what comes, the consumer refuses more than 64 KiB,
# with an error that people can read.
MAX_FRAME = 256 * 1024
# Many sockets come back at the same moment when a server was away.
BACKLOG = 1024
# What may wait for a client that does not read, and for how many seconds.
MOST_UNREAD, MOST_PATIENCE = 1024 * 1024, 10.0
# What is being done when we leave may take so many seconds more.
FINISHING = 10.0


class ParleyServer(Server):
    """Daphne drops its sockets without a word when it is told to end; this one leaves in order."""

    def __init__(self, *, drain_seconds: float, **options: Any) -> None:
        super().__init__(signal_handlers=False, **options)
        self.drain_seconds = drain_seconds
        self.last_text, self.last_frame = "", b""
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
        if leaving.is_set():
            # Twice means now.
            os._exit(1)
        leaving.set()
        log.info("leaving", seconds=self.drain_seconds)
        self.departure = twisted_loop.create_task(self._leave())

    async def _leave(self) -> None:
        sockets = [one for one in self.connections if isinstance(one, WebSocketProtocol)]
        goodbyes = [partial(one.application_queue.put_nowait, LEAVE) for one in sockets]
        await spread(goodbyes, self.drain_seconds)
        for port in self.ports:
            port.stopListening()
        try:
            async with asyncio.timeout(FINISHING):
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
        if leaving.is_set() and isinstance(protocol, WebSocketProtocol):
            # Not one of ours, so that a balancer may ask the next server.
            raise ConnectionDeny(503, "This server is leaving.")

    async def handle_reply(self, protocol: Any, message: dict[str, Any]) -> None:
        if leaving.is_set() and message["type"] == "http.response.start":
            # Or the next request on this connection would find nobody.
            message["headers"] = [*message.get("headers", []), (b"connection", b"close")]
        if message["type"] == "websocket.send" and self._send_frame(protocol, message):
            await self._wait_for_reader(protocol)
            return
        if message.get("code") == GOING_AWAY and protocol.state == protocol.STATE_OPEN:
            # By its front door Autobahn closes with no codes but those that browsers may use.
            protocol.sendCloseFrame(code=GOING_AWAY)
        else:
            await super().handle_reply(protocol, message)
        if message["type"] == "websocket.send":
            await self._wait_for_reader(protocol)

    def _send_frame(self, protocol: Any, message: dict[str, Any]) -> bool:
        """Text on an open socket, the usual case. Autobahn would look at every frame for all that
        it might be, for every reader; what all hear is made into a frame once."""
        text = message.get("text")
        if not text or protocol.state != protocol.STATE_OPEN:
            return False
        if text is not self.last_text:
            self.last_text, self.last_frame = text, frame_of(text)
        protocol.transport.write(self.last_frame)
        return True

    async def _wait_for_reader(self, protocol: Any) -> None:
        """Who does not read holds up only their own socket, and loses it: daphne would keep all."""
        deadline = time.monotonic() + MOST_PATIENCE
        while _unread_bytes(protocol.transport) > MOST_UNREAD:
            if leaving.is_set() or time.monotonic() > deadline:
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


def frame_of(text: str) -> bytes:
    """A whole text message as RFC 6455 frames it, from a server."""
    payload = text.encode()
    size = len(payload)
    if size < 126:
        return bytes((0x81, size)) + payload
    if size < 65536:
        return b"\x81\x7e" + size.to_bytes(2, "big") + payload
    return b"\x81\x7f" + size.to_bytes(8, "big") + payload


def _unread_bytes(transport: Any) -> int:
    """What Twisted holds because the kernel takes no more."""
    return len(transport.dataBuffer) - transport.offset + transport._tempDataLen


def serve(host: str, port: int, ready_fd: int | None) -> int:
    server = ParleyServer(
        application=told_to_leave(_load(APPLICATION)),
        drain_seconds=_drain_seconds(),
        endpoints=[
            f"{endpoint}:backlog={BACKLOG}"
            for endpoint in build_endpoint_description_strings(host=host, port=port)
        ],
        websocket_max_message_size=MAX_FRAME,
        websocket_max_frame_size=MAX_FRAME,
        application_close_timeout=10,
        server_name="parley",
        ready_callable=None,
    )
    server.ready_callable = partial(_tell, server, ready_fd)
    limit_bodies()
    _start_metrics()
    _start_relay(stop := threading.Event())
    _start_feeder(stop)
    server.run()
    stop.set()
    return 1 if server.abort_start else 0


def _start_relay(stop: threading.Event) -> None:
    """What a crash or an outage left undone between the two stores is finished here, what nothing
    needs any more goes, and what people asked to take along is put together."""
    from threads.cards.clock import tick_forever
    from threads.exporting.worker import export_forever
    from threads.relay import carry_forever
    from threads.sweeping import sweep_files_forever

    jobs = {
        "relay": carry_forever,
        "sweeper": sweep_files_forever,
        "clock": tick_forever,
        "exporter": export_forever,
    }
    for name, work in jobs.items():
        threading.Thread(target=work, args=[stop], name=name, daemon=True).start()


def _start_feeder(stop: threading.Event) -> None:
    """What was said becomes findable a moment later."""
    from inbox.feeding import feed_forever

    threading.Thread(target=feed_forever, args=[stop], name="search", daemon=True).start()


def _start_metrics() -> None:
    """At an address of their own: what is counted is not for everybody."""
    from django.conf import settings
    from prometheus_client import start_http_server

    if settings.METRICS:
        host, _, port = settings.METRICS.rpartition(":")
        start_http_server(int(port), addr=host or "127.0.0.1")


def _drain_seconds() -> float:
    from django.conf import settings

    return settings.DRAIN_SECONDS


def _load(path: str) -> Any:
    module, name = path.split(":")
    return getattr(import_module(module), name)


def _tell(server: Server, ready_fd: int | None) -> None:
    """Whoever started us waits for this line before sending people here."""
    host, port = server.listening_addresses[0]
    if ready_fd is not None:
        with os.fdopen(ready_fd, "w") as ready:
            ready.write(f"{host} {port}\n")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m messaging_site.server")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000, help="0 takes any free one")
    parser.add_argument("--ready-fd", type=int, help="where to write host and port once listening")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "messaging_site.settings")
    return serve(options.host, options.port, options.ready_fd)


if __name__ == "__main__":
    sys.exit(main())
