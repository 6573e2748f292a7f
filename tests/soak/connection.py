"""The websocket connection of a device, which reconnects automatically as that of the page."""

import asyncio
import contextlib
import json
import random
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, WebSocketException

HEARTBEAT_SECONDS = 25.0
FIRST_HEARTBEAT_SECONDS = 3.5
RESPONSE_SECONDS = 10.0
MAX_BACKOFF_SECONDS = 4.0
SIGNED_OUT = 4401
MAX_CLOCK_SKEW_SECONDS = 30.0

DISCONNECT_ERRORS = (OSError, WebSocketException, TimeoutError, EOFError)


@dataclass(kw_only=True)
class DeviceConnection(ABC):
    name: str
    cookie: str
    ports: list[int]
    rng: random.Random
    counts: Counter[str] = field(default_factory=Counter)
    # Until then it does not read frames, or does not reconnect.
    stalled_until: float = 0.0
    offline_until: float = 0.0
    connections: int = 0
    protocol: int = 0
    socket: ClientConnection | None = None
    _attempts: int = 0
    _pinged_at: float = 0.0
    _timers: set[asyncio.TimerHandle] = field(default_factory=set)

    @abstractmethod
    def on_connected(self, hello: dict[str, Any]) -> None:
        """Called when a connection is open."""

    @abstractmethod
    def on_event(self, event: dict[str, Any]) -> None: ...

    @abstractmethod
    def position(self) -> dict[str, Any]:
        """The position in the visible thread, sent with heartbeats."""

    @abstractmethod
    def on_disconnected(self) -> None:
        """Called when the connection is closed."""

    async def run(self) -> None:
        """Connects and reconnects until it is cancelled."""
        while True:
            # The random delay spreads reconnects after an outage.
            await asyncio.sleep(max(self.offline_until - time.monotonic(), self._next_backoff()))
            try:
                await self._connect_and_listen()
            except ConnectionClosed as closed:
                self._record_close(closed)
            except DISCONNECT_ERRORS:
                self.counts["connections refused or lost"] += 1
            finally:
                self._disconnected()

    def _next_backoff(self) -> float:
        limit = min(MAX_BACKOFF_SECONDS, 0.5 * 2**self._attempts)
        self._attempts += 1
        return limit / 2 + self.rng.random() * limit / 2

    def _record_close(self, closed: ConnectionClosed) -> None:
        code = closed.rcvd.code if closed.rcvd else 1006
        self.counts[f"closed with {code}"] += 1
        if code == SIGNED_OUT:
            self.counts["signed out"] += 1

    async def _connect_and_listen(self) -> None:
        async with self.connect() as socket:
            await self._receive_hello(socket)
            heartbeats = asyncio.create_task(self._send_heartbeats(socket))
            try:
                await self._listen(socket)
            finally:
                heartbeats.cancel()

    def connect(self) -> connect:
        port = self.rng.choice(self.ports)
        return connect(
            f"ws://127.0.0.1:{port}/ws/",
            origin=f"http://127.0.0.1:{port}",  # type: ignore[arg-type]
            additional_headers={"Cookie": f"sessionid={self.cookie}"},
            open_timeout=RESPONSE_SECONDS,
            close_timeout=1,
            ping_interval=None,
            max_size=None,
            compression=None,
            proxy=None,
        )

    async def _receive_hello(self, socket: ClientConnection) -> None:
        hello = json.loads(await asyncio.wait_for(socket.recv(), RESPONSE_SECONDS))
        self.socket, self._attempts = socket, 0
        self.connections += 1
        self.protocol = hello["protocol"]
        ahead = datetime.fromisoformat(hello["server_time"]).timestamp() - time.time()
        self.counts["hellos from a wrong clock"] += ahead > MAX_CLOCK_SKEW_SECONDS
        self.on_connected(hello)

    async def _listen(self, socket: ClientConnection) -> None:
        while True:
            await asyncio.sleep(max(0.0, self.stalled_until - time.monotonic()))
            event = json.loads(await socket.recv())
            self._pinged_at = 0.0
            self.on_event(event)

    async def _send_heartbeats(self, socket: ClientConnection) -> None:
        await asyncio.sleep(FIRST_HEARTBEAT_SECONDS)
        while True:
            self._pinged_at = time.monotonic()
            self.send_frame("ping", t=self._pinged_at, **self.position())
            await asyncio.sleep(RESPONSE_SECONDS)
            if self._pinged_at and not self.is_stalled:
                self.counts["silent connections"] += 1
                socket.transport.abort()
            await asyncio.sleep(HEARTBEAT_SECONDS - RESPONSE_SECONDS)

    @property
    def is_stalled(self) -> bool:
        # Frames that arrived meanwhile take a moment to read.
        return time.monotonic() < self.stalled_until + RESPONSE_SECONDS / 2

    def _disconnected(self) -> None:
        self.socket, self._pinged_at = None, 0.0
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
        self.on_disconnected()

    def send_frame(self, type: str, **fields: Any) -> bool:
        if self.socket is None:
            return False
        frame = json.dumps({"type": type, **fields})
        task = asyncio.ensure_future(self._send(self.socket, frame))
        task.add_done_callback(lambda done: done.exception())
        return True

    async def _send(self, socket: ClientConnection, frame: str) -> None:
        with contextlib.suppress(*DISCONNECT_ERRORS):
            await socket.send(frame)

    def call_later(self, seconds: float, action: Callable[[], None]) -> asyncio.TimerHandle:
        """Schedules a call that is cancelled when the connection closes."""
        timer = asyncio.get_running_loop().call_later(seconds, action)
        self._timers.add(timer)
        return timer
