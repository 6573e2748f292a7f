"""The channel layer, for what we use it for: hints that may get lost, to people and not to rooms.

Whoever is on this process is told directly. Other processes, if there are any, hear of it by one
publication for all of them, which carries everything that has come up since the last one.
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

Message = dict[str, Any]


class ChannelQueue:
    """What waits for one socket. A full one drops what comes; the page finds out by seq."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.messages: deque[Message] = deque()
        self.groups: set[str] = set()
        self.has_mail = asyncio.Event()
        # Called when something comes into an empty one, in the place of somebody who waits.
        self.on_mail: Callable[[], None] | None = None
        # What this socket was told last of whether other processes can be heard.
        self.is_live = True

    def put(self, message: Message) -> bool:
        if len(self.messages) >= self.capacity:
            metrics.DROPPED_EVENTS.labels("socket").inc()
            return False
        self.messages.append(message)
        self.has_mail.set()
        if self.on_mail is not None:
            self.on_mail()
        return True

    async def get(self) -> Message:
        while not self.messages:
            self.has_mail.clear()
            await self.has_mail.wait()
        return self.messages.popleft()


class ChannelLayer(BaseChannelLayer):
    extensions = ["groups"]

    def __init__(self, *, capacity: int, url: str = "", prefix: str = "parley") -> None:
        super().__init__(capacity=capacity)
        self.mailboxes: dict[str, ChannelQueue] = {}
        self.groups: dict[str, set[str]] = defaultdict(set)
        self._between = RedisBus(url, prefix, self._heard, self._live_changed) if url else None
        # From other threads, on its way to the event loop.
        self._coming: deque[tuple[list[str], Message]] = deque()
        self._is_due = False
        self._loop: asyncio.AbstractEventLoop | None = None
        # Where that runs.
        self._thread = 0
        self._lock = threading.Lock()

    # --- What Channels asks of a layer

    async def new_channel(self, prefix: str = "socket") -> str:
        self._loop, self._thread = asyncio.get_running_loop(), threading.get_ident()
        if self._between is not None:
            await self._between.begin(self._loop)
        name = f"{prefix}.{uuid4().hex}"
        box = self.mailboxes[name] = ChannelQueue(self.capacity)
        metrics.SOCKETS.set(len(self.mailboxes))
        if self._between is not None and not self._between.is_live:
            self._tell_live(box, live=False)
        return name

    async def receive(self, channel: str) -> Message:
        return await self.mailboxes[channel].get()

    async def send(self, channel: str, message: Message) -> None:
        box = self.mailboxes.get(channel)
        if box is not None:
            box.put(message)

    async def group_add(self, group: str, channel: str) -> None:
        box = self.mailboxes.get(channel)
        if box is not None:
            box.groups.add(group)
            self.groups[group].add(channel)

    async def group_discard(self, group: str, channel: str) -> None:
        box = self.mailboxes.get(channel)
        if box is not None:
            box.groups.discard(group)
        self._leave(group, channel)

    def _leave(self, group: str, channel: str) -> None:
        members = self.groups.get(group)
        if members is not None:
            members.discard(channel)
            if not members:
                del self.groups[group]

    async def group_send(self, group: str, message: Message) -> None:
        self._tell([group], message)

    # --- Beyond that

    def forget(self, channel: str) -> None:
        """Nobody reads it any more, whether or not it said goodbye."""
        box = self.mailboxes.pop(channel, None)
        for group in box.groups if box else ():
            self._leave(group, channel)
        metrics.SOCKETS.set(len(self.mailboxes))

    def tell(self, groups: Iterable[str], message: Message) -> None:
        """From any thread, without waiting; in the order in which each thread says it."""
        loop = self._loop
        if loop is None or not loop.is_running():
            # A command, or a test: nobody is here. Whoever is elsewhere is told at once.
            if self._between is not None:
                self._between.publish_now([(list(groups), message)])
            return
        with self._lock:
            self._coming.append((list(groups), message))
            is_due, self._is_due = self._is_due, True
        if is_due:
            return
        if threading.get_ident() == self._thread:
            loop.call_soon(self._take_in)
        else:
            loop.call_soon_threadsafe(self._take_in)

    def _take_in(self) -> None:
        with self._lock:
            self._is_due = False
            coming, self._coming = self._coming, deque()
        for groups, message in coming:
            self._tell(groups, message)

    def _tell(self, groups: list[str], message: Message) -> None:
        self._tell_here(groups, message)
        if self._between is not None:
            self._between.publish(groups, message)

    def _tell_here(self, groups: list[str], message: Message) -> None:
        for group in groups:
            for channel in self.groups.get(group, ()):
                self.mailboxes[channel].put(message)

    # --- From other processes

    def _heard(self, groups: list[str], message: Message) -> None:
        self._tell_here(groups, message)

    def _live_changed(self, live: bool) -> None:
        for box in list(self.mailboxes.values()):
            self._tell_live(box, live=live)

    @staticmethod
    def _tell_live(box: ChannelQueue, *, live: bool) -> None:
        if box.is_live != live and box.put({"type": "live.changed", "live": live}):
            box.is_live = live
