"""A page without a browser: one connection at a time, and what our page does with it."""

import asyncio
import contextlib
import json
import random
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, WebSocketException

from tests.soak.view import Unsent, View
from tests.soak.witness import Acknowledged, Refused, Sent, Witness

HEARTBEAT = 25.0
FIRST_HEARTBEAT = 3.5
SILENCE = 10.0
AGAIN = 2.0
LONGEST_WAIT = 4.0
MARK_AFTER = 0.3
SIGNED_OUT = 4401
# From this protocol on the server names what was missed.
NAMES_PENDING = 2

GONE = (OSError, WebSocketException, TimeoutError, EOFError)


@dataclass
class Device:
    name: str
    user: str
    cookie: str
    ports: list[int]
    views: dict[str, View]
    witness: Witness
    rng: random.Random
    counts: Counter[str] = field(default_factory=Counter)
    visible: str = ""
    # Somebody looks at it: what is shown is read.
    looked_at: bool = True
    dozes_until: float = 0.0
    away_until: float = 0.0
    connections: int = 0
    protocol: int = 0
    socket: ClientConnection | None = None
    _attempts: int = 0
    _pinged_at: float = 0.0
    _timers: set[asyncio.TimerHandle] = field(default_factory=set)

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
        port = self.rng.choice(self.ports)
        async with connect(
            f"ws://127.0.0.1:{port}/ws/",
            origin=f"http://127.0.0.1:{port}",  # type: ignore[arg-type]
            additional_headers={"Cookie": f"sessionid={self.cookie}"},
            open_timeout=SILENCE,
            close_timeout=1,
            ping_interval=None,
            max_size=None,
            compression=None,
            proxy=None,
        ) as socket:
            await self._hello(socket)
            beat = asyncio.create_task(self._beat(socket))
            try:
                await self._listen(socket)
            finally:
                beat.cancel()

    async def _hello(self, socket: ClientConnection) -> None:
        hello = json.loads(await asyncio.wait_for(socket.recv(), SILENCE))
        self.socket, self._attempts = socket, 0
        self.connections += 1
        self.protocol = hello.get("protocol", 1)
        for view in self.views.values():
            if view.thread == self.visible or view.outbox:
                self.open(view)
        self._catch_up(hello["pending"])

    async def _listen(self, socket: ClientConnection) -> None:
        while True:
            await asyncio.sleep(max(0.0, self.dozes_until - time.monotonic()))
            event = json.loads(await socket.recv())
            self._pinged_at = 0.0
            handler = getattr(self, f"_on_{event['type'].replace('.', '_')}", None)
            if handler is not None:
                handler(event)

    async def _beat(self, socket: ClientConnection) -> None:
        await asyncio.sleep(FIRST_HEARTBEAT)
        while True:
            view = self.views[self.visible]
            self._pinged_at = time.monotonic()
            place = {"thread": view.thread, "seq": view.last_seq, "rev": view.rev}
            self.say("ping", t=self._pinged_at, **place)
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
        for view in self.views.values():
            view.disconnected()

    # --- What the person does

    @property
    def unsent(self) -> int:
        return sum(len(view.outbox) for view in self.views.values())

    def show(self, thread: str) -> None:
        """Another conversation on the screen."""
        self.visible = thread
        self.open(self.views[thread])

    def write(self, thread: str, body: str) -> None:
        client_id = str(UUID(int=self.rng.getrandbits(128), version=4))
        view = self.views[thread]
        view.outbox[client_id] = Unsent(client_id, body)
        if not view.synced:
            self.open(view)
        self._flush(view)

    def drop(self, away: float) -> None:
        """The lid is closed, the tunnel begins: nobody says goodbye."""
        self.away_until = time.monotonic() + away
        if self.socket is not None:
            self.socket.transport.abort()

    # --- Commands

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

    def open(self, view: View) -> None:
        if self.say("thread.open", thread=view.thread, after=view.last_message, rev=view.rev):
            view.asked_at = time.monotonic()

    def _flush(self, view: View) -> None:
        """Only after the thread was caught up with, as the page does it."""
        if not view.synced:
            return
        for unsent in view.outbox.values():
            if not unsent.handed:
                self._hand_over(view, unsent)

    def _hand_over(self, view: View, unsent: Unsent) -> None:
        unsent.handed = self.say(
            "message.send",
            thread=view.thread,
            client_id=unsent.client_id,
            body=unsent.body,
            seen_seq=view.last_seq if self.looked_at else 0,
        )
        if unsent.handed:
            sent = Sent(view.thread, unsent.client_id, unsent.body, self.connections, view.synced)
            self.witness.write(sent)

    def _mark_soon(self, view: View) -> None:
        is_read = self.looked_at and view.thread == self.visible
        if view.last_seq > (view.read if is_read else view.delivered) and view.marking is None:
            view.marking = self._later(MARK_AFTER, lambda: self._mark(view))

    def _mark(self, view: View) -> None:
        view.marking = None
        is_read = self.looked_at and view.thread == self.visible
        self.say(
            "thread.mark_read" if is_read else "thread.mark_delivered",
            thread=view.thread,
            message=view.last_message,
            seq=view.last_seq,
            tally=view.last_tally,
        )

    def _later(self, seconds: float, do: Any) -> asyncio.TimerHandle:
        """Not past this connection."""
        timer = asyncio.get_running_loop().call_later(seconds, do)
        self._timers.add(timer)
        return timer

    # --- Events

    def _catch_up(self, pending: list[dict[str, Any]]) -> None:
        for one in pending:
            view = self.views.get(one["thread"])
            if view is None:
                continue
            self.counts["pending named"] += 1
            self.open(view)

    def _on_pong(self, event: dict[str, Any]) -> None:
        self._catch_up(event["pending"])
        for view in self.views.values():
            if view.asked_at and view.asked_at < time.monotonic() - SILENCE:
                self.open(view)

    def _on_message_sent(self, event: dict[str, Any]) -> None:
        view = self.views.get(event["thread"])
        if view is None:
            return
        if not view.hear(event):
            self.counts["gaps noticed"] += 1
            if view.asked_at is None:
                self.open(view)
        self._mark_soon(view)

    def _on_thread_synced(self, event: dict[str, Any]) -> None:
        view = self.views[event["thread"]]
        view.asked_at = None
        for message in event["messages"]:
            view.hear(message, from_store=True)
        if event["more"]:
            self.open(view)
            return
        view.rev = max(view.rev, event["rev"])
        view.synced = True
        for cursor in event["cursors"]:
            if cursor["user"] == self.user:
                view.note_cursor(cursor)
        self._flush(view)
        self._mark_soon(view)

    def _on_cursor_moved(self, event: dict[str, Any]) -> None:
        view = self.views.get(event["thread"])
        if view is not None and event["user"] == self.user:
            view.note_cursor(event)

    def _on_message_accepted(self, event: dict[str, Any]) -> None:
        names = ("thread", "client_id", "message", "seq")
        fields = {name: event[name] for name in names}
        self.witness.write(Acknowledged(**fields, connection=self.connections))
        self.views[event["thread"]].outbox.pop(event["client_id"], None)

    def _on_error(self, event: dict[str, Any]) -> None:
        code, client_id = event["code"], event.get("client_id")
        self.counts[code] += 1
        self.witness.write(Refused(code, client_id or "", self.connections))
        wait = max(AGAIN, event.get("retry_after", 0)) * (1 + self.rng.random())
        if client_id is None:
            self._later(wait, self._ask_again)
            return
        for view in self.views.values():
            if client_id in view.outbox:
                self._refused(view, view.outbox[client_id], code, wait)

    def _ask_again(self) -> None:
        """An opening or a cursor was refused; which one, the answer does not say."""
        for view in self.views.values():
            if view.asked_at is not None:
                self.open(view)
            self._mark_soon(view)

    def _refused(self, view: View, unsent: Unsent, code: str, wait: float) -> None:
        if code in ("TRY_AGAIN", "RATE_LIMITED"):
            unsent.handed = False
            self._later(wait, lambda: self._flush(view))
        else:
            del view.outbox[unsent.client_id]
