"""The channel layer: delivers messages to users' groups, at most once.

Connections of this process get a message directly. Other processes get it through the Redis bus,
with one publication for everything that has accumulated since the last one.
"""

import asyncio
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any
from uuid import uuid4

from channels.layers import BaseChannelLayer

from core import metrics
from realtime.broadcast.redis_bus import RedisBus

LayerMessage = dict[str, Any]


class ChannelQueue:
    """The queue of one connection. A full one drops messages; the page detects that by `seq`."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.messages: deque[LayerMessage] = deque()
        self.groups: set[str] = set()
        self.has_messages = asyncio.Event()
        # Called after every put, so that an idle connection needs no task that waits.
        self.on_put: Callable[[], None] | None = None
        # The last `live` state that was sent to this connection.
        self.is_live = True
        # Whether messages were dropped since the connection was compared with the store.
        self.has_dropped = False

    def put(self, message: LayerMessage) -> bool:
        if len(self.messages) >= self.capacity:
            metrics.DROPPED_EVENTS.labels("socket").inc()
            self.has_dropped = True
            return False
        self.messages.append(message)
        self.has_messages.set()
        if self.on_put is not None:
            self.on_put()
        return True

    async def get(self) -> LayerMessage:
        while not self.messages:
            self.has_messages.clear()
            await self.has_messages.wait()
        return self.messages.popleft()


class ChannelLayer(BaseChannelLayer):
    extensions = ["groups"]

    def __init__(self, *, capacity: int, url: str = "", prefix: str = "parley") -> None:
        super().__init__(capacity=capacity)
        self.queues: dict[str, ChannelQueue] = {}
        self.groups: dict[str, set[str]] = defaultdict(set)
        self._bus = RedisBus(url, prefix, self._put, self._set_live) if url else None
        # Messages of other threads that the event loop has not taken yet.
        self._incoming: deque[tuple[list[str], LayerMessage]] = deque()
        self._is_scheduled = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._loop_thread = 0
        self._lock = threading.Lock()

    # --- The interface of Channels

    async def new_channel(self, prefix: str = "socket") -> str:
        self._loop, self._loop_thread = asyncio.get_running_loop(), threading.get_ident()
        if self._bus is not None:
            await self._bus.start(self._loop)
        name = f"{prefix}.{uuid4().hex}"
        queue = self.queues[name] = ChannelQueue(self.capacity)
        metrics.SOCKETS.set(len(self.queues))
        if self._bus is not None and not self._bus.is_live:
            self._send_live(queue, live=False)
        return name

    async def receive(self, channel: str) -> LayerMessage:
        return await self.queues[channel].get()

    async def send(self, channel: str, message: LayerMessage) -> None:
        queue = self.queues.get(channel)
        if queue is not None:
            queue.put(message)

    async def group_add(self, group: str, channel: str) -> None:
        queue = self.queues.get(channel)
        if queue is not None:
            queue.groups.add(group)
            self.groups[group].add(channel)

    async def group_discard(self, group: str, channel: str) -> None:
        queue = self.queues.get(channel)
        if queue is not None:
            queue.groups.discard(group)
        self._discard(group, channel)

    def _discard(self, group: str, channel: str) -> None:
        members = self.groups.get(group)
        if members is not None:
            members.discard(channel)
            if not members:
                del self.groups[group]

    async def group_send(self, group: str, message: LayerMessage) -> None:
        self._send_to([group], message)

    # --- Extensions

    @property
    def gaps(self) -> int | None:
        """Increases when messages of other processes may have been lost; None during an outage."""
        if self._bus is None:
            return 0
        return self._bus.detector.gaps if self._bus.is_live else None

    def remove_channel(self, channel: str) -> None:
        """Removes a channel whose connection has ended, with or without a close."""
        queue = self.queues.pop(channel, None)
        for group in queue.groups if queue else ():
            self._discard(group, channel)
        metrics.SOCKETS.set(len(self.queues))

    def can_reach(self, group: str) -> bool:
        """Whether a connection of this process, or possibly of another one, is in the group."""
        if group in self.groups:
            return True
        return self._bus is not None and not (self._is_running and self._bus.is_only_process)

    @property
    def _is_running(self) -> bool:
        """False in a management command or a test: there are no connections in this process."""
        return self._loop is not None and self._loop.is_running()

    def publish(self, groups: Iterable[str], message: LayerMessage) -> None:
        """Can be called from any thread and does not wait; keeps the order of each thread."""
        loop = self._loop
        if loop is None or not self._is_running:
            if self._bus is not None:
                self._bus.publish_now([(list(groups), message)])
            return
        with self._lock:
            self._incoming.append((list(groups), message))
            is_scheduled, self._is_scheduled = self._is_scheduled, True
        if is_scheduled:
            return
        if threading.get_ident() == self._loop_thread:
            loop.call_soon(self._send_incoming)
        else:
            loop.call_soon_threadsafe(self._send_incoming)

    def _send_incoming(self) -> None:
        with self._lock:
            self._is_scheduled = False
            incoming, self._incoming = self._incoming, deque()
        for groups, message in incoming:
            self._send_to(groups, message)

    def _send_to(self, groups: list[str], message: LayerMessage) -> None:
        self._put(groups, message)
        if self._bus is not None:
            self._bus.publish(groups, message)

    def _put(self, groups: list[str], message: LayerMessage) -> None:
        """Queues a message for the connections of this process."""
        for group in groups:
            for channel in self.groups.get(group, ()):
                self.queues[channel].put(message)

    def _set_live(self, live: bool) -> None:
        for queue in list(self.queues.values()):
            self._send_live(queue, live=live)

    @staticmethod
    def _send_live(queue: ChannelQueue, *, live: bool) -> None:
        if queue.is_live != live and queue.put({"type": "live.changed", "live": live}):
            queue.is_live = live
