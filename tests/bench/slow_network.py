"""A TCP proxy that behaves like a slow network: a delay, and bandwidth shared by all connections.

Chromium's own emulation delays what the page sees, but not its timestamps of a response, does not
delay the opening of a connection, and leaves out websockets.
"""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

# Small, so that connections take turns.
CHUNK_BYTES = 1460


@dataclass
class Link:
    """One direction."""

    bytes_per_second: float
    delay: float
    free_at: float = 0.0

    def arrival(self, size: int) -> float:
        """When data of this size that is sent now arrives, behind what was sent before."""
        self.free_at = max(time.monotonic(), self.free_at) + size / self.bytes_per_second
        return self.free_at + self.delay


@dataclass
class SlowNetwork:
    round_trip: float
    download: float
    upload: float

    def __post_init__(self) -> None:
        self._up = Link(self.upload, self.round_trip / 2)
        self._down = Link(self.download, self.round_trip / 2)

    @contextmanager
    def to(self, port: int) -> Iterator[int]:
        """Runs the proxy to a local server in a thread; yields the port of the proxy."""
        started: Future[tuple[int, Callable[[], None]]] = Future()
        thread = threading.Thread(target=asyncio.run, args=[self._run(port, started)])
        thread.start()
        own_port, stop = started.result(timeout=10)
        try:
            yield own_port
        finally:
            stop()
            thread.join()

    async def _run(self, port: int, started: "Future[tuple[int, Callable[[], None]]]") -> None:
        loop, stopped = asyncio.get_running_loop(), asyncio.Event()

        async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            # Cancelled when the proxy stops; asyncio would print the error of each connection.
            stopping = contextlib.suppress(OSError, asyncio.CancelledError)
            with stopping, contextlib.closing(writer):
                await self._connect(port, reader, writer)

        server = await asyncio.start_server(connect, "127.0.0.1", 0)
        own_port = server.sockets[0].getsockname()[1]
        started.set_result((own_port, partial(loop.call_soon_threadsafe, stopped.set)))
        await stopped.wait()
        server.close()

    async def _connect(
        self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        # The kernel has accepted the connection already: its handshake is a round trip.
        await asyncio.sleep(self.round_trip)
        from_server, to_server = await asyncio.open_connection("127.0.0.1", port)
        with contextlib.closing(to_server):
            await asyncio.gather(
                _transfer(reader, to_server, self._up), _transfer(from_server, writer, self._down)
            )


async def _transfer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, link: Link) -> None:
    arriving: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
    delivery = asyncio.create_task(_deliver(arriving, writer))
    data = b"x"
    while data:
        data = await reader.read(CHUNK_BYTES)
        arriving.put_nowait((link.arrival(len(data)), data))
    await delivery


async def _deliver(
    arriving: "asyncio.Queue[tuple[float, bytes]]", writer: asyncio.StreamWriter
) -> None:
    while True:
        arrives_at, data = await arriving.get()
        await asyncio.sleep(arrives_at - time.monotonic())
        if not data:
            # The other direction may still have something to send.
            writer.write_eof()
            return
        writer.write(data)
