"""A device's connection: one at a time, which comes back by itself, as the page's does."""

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

HEARTBEAT = 25.0
FIRST_HEARTBEAT = 3.5
SILENCE = 10.0
LONGEST_WAIT = 4.0
SIGNED_OUT = 4401
WRONG_CLOCK = 30.0

GONE = (OSError, WebSocketException, TimeoutError, EOFError)


@dataclass(kw_only=True)
class Line(ABC):
    name: str
    cookie: str
    ports: list[int]
    rng: random.Random
    counts: Counter[str] = field(default_factory=Counter)
    # Does not read what comes; does not come back.
    dozes_until: float = 0.0
    away_until: float = 0.0
    connections: int = 0
    protocol: int = 0
    socket: ClientConnection | None = None
    _attempts: int = 0
    _pinged_at: float = 0.0
    _timers: set[asyncio.TimerHandle] = field(default_factory=set)

    @abstractmethod
    def begin(self, hello: dict[str, Any]) -> None:
        """A connection is there."""

    @abstractmethod
    def hear(self, event: dict[str, Any]) -> None: ...

    @abstractmethod
    def place(self) -> dict[str, Any]:
        """What a heartbeat says of the thread on the screen."""

    @abstractmethod
    def over(self) -> None:
        """The connection is gone."""

    async def live(self) -> None:
        """Connects, and comes back by itself, for as long as there is an event loop."""
        while True:
            # Where a disaster is over and all come back at once, they come spread over time.
            await asyncio.sleep(max(self.away_until - time.monotonic(), self._next_wait()))
            try:
                await self._be_connected()
            except ConnectionClosed as closed:
                self._note_close(closed)
            except GONE:
                self.counts["connections refused or lost"] += 1
            finally:
                self._disconnected()

    def _next_wait(self) -> float:
        most = min(LONGEST_WAIT, 0.5 * 2**self._attempts)
        self._attempts += 1
        return most / 2 + self.rng.random() * most / 2

    def _note_close(self, closed: ConnectionClosed) -> None:
        code = closed.rcvd.code if closed.rcvd else 1006
        self.counts[f"closed with {code}"] += 1
        if code == SIGNED_OUT:
            self.counts["signed out"] += 1

    async def _be_connected(self) -> None:
        async with self.connect() as socket:
            await self._hello(socket)
            beat = asyncio.create_task(self._beat(socket))
            try:
                await self._listen(socket)
            finally:
                beat.cancel()

    def connect(self) -> connect:
        port = self.rng.choice(self.ports)
        return connect(
            f"ws://127.0.0.1:{port}/ws/",
            origin=f"http://127.0.0.1:{port}",  # type: ignore[arg-type]
            additional_headers={"Cookie": f"sessionid={self.cookie}"},
            open_timeout=SILENCE,
            close_timeout=1,
            ping_interval=None,
            max_size=None,
            compression=None,
            proxy=None,
        )

    async def _hello(self, socket: ClientConnection) -> None:
        hello = json.loads(await asyncio.wait_for(socket.recv(), SILENCE))
        self.socket, self._attempts = socket, 0
        self.connections += 1
        self.protocol = hello["protocol"]
        ahead = datetime.fromisoformat(hello["server_time"]).timestamp() - time.time()
        self.counts["hellos from a wrong clock"] += ahead > WRONG_CLOCK
        self.begin(hello)

    async def _listen(self, socket: ClientConnection) -> None:
        while True:
            await asyncio.sleep(max(0.0, self.dozes_until - time.monotonic()))
            event = json.loads(await socket.recv())
            self._pinged_at = 0.0
            self.hear(event)

    async def _beat(self, socket: ClientConnection) -> None:
        await asyncio.sleep(FIRST_HEARTBEAT)
        while True:
            self._pinged_at = time.monotonic()
            self.say("ping", t=self._pinged_at, **self.place())
            await asyncio.sleep(SILENCE)
            if self._pinged_at and not self.is_dozing:
                self.counts["silent connections"] += 1
                socket.transport.abort()
            await asyncio.sleep(HEARTBEAT - SILENCE)

    @property
    def is_dozing(self) -> bool:
        # What came meanwhile needs a moment to be read.
        return time.monotonic() < self.dozes_until + SILENCE / 2

    def _disconnected(self) -> None:
        self.socket, self._pinged_at = None, 0.0
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
        self.over()

    def say(self, type: str, **fields: Any) -> bool:
        if self.socket is None:
            return False
        frame = json.dumps({"type": type, **fields})
        task = asyncio.ensure_future(self._send(self.socket, frame))
        task.add_done_callback(lambda done: done.exception())
        return True

    async def _send(self, socket: ClientConnection, frame: str) -> None:
        with contextlib.suppress(*GONE):
            await socket.send(frame)

    def later(self, seconds: float, do: Callable[[], None]) -> asyncio.TimerHandle:
        """Not past this connection."""
        timer = asyncio.get_running_loop().call_later(seconds, do)
        self._timers.add(timer)
        return timer
