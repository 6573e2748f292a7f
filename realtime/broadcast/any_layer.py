"""What sockets and publishers need from a channel layer, on ours and on any other.

Our own layer has queues that call back, and publishes from any thread. On other layers a task reads
each socket's channel, and a task publishes, through nothing but what Channels specifies.
"""

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Iterator
from typing import Any

import structlog
from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.conf import settings

from core import metrics
from realtime.broadcast.channel_layer import ChannelLayer, ChannelQueue, Message

log = structlog.get_logger(__name__)

RETRY_SECONDS = 1.0
# Messages that wait for the layer; more are dropped, and pages find them by seq.
MAX_QUEUED = 10_000


@contextlib.contextmanager
def channel_queue(layer: Any, channel: str) -> Iterator[ChannelQueue]:
    """The queue of a channel that was just made, as long as its socket is open."""
    if isinstance(layer, ChannelLayer):
        try:
            yield layer.mailboxes[channel]
        finally:
            layer.forget(channel)
        return
    publisher.loop = asyncio.get_running_loop()
    queue = ChannelQueue(settings.CHANNEL_CAPACITY)
    reading = asyncio.create_task(_read(layer, channel, queue))
    metrics.SOCKETS.inc()
    try:
        yield queue
    finally:
        reading.cancel()
        metrics.SOCKETS.dec()


async def _read(layer: Any, channel: str, queue: ChannelQueue) -> None:
    while True:
        try:
            queue.put(await layer.receive(channel))
        except Exception:
            log.warning("channel_not_read", exc_info=True)
            await asyncio.sleep(RETRY_SECONDS)


def send_to_groups(groups: list[str], message: Message) -> None:
    """From any thread, without waiting; each thread's messages stay in order."""
    layer: Any = get_channel_layer()
    if isinstance(layer, ChannelLayer):
        layer.tell(groups, message)
    else:
        publisher.publish(layer, groups, message)


class Publisher:
    """Sends to the groups of a layer, one message after the other, on the event loop."""

    def __init__(self) -> None:
        # Of the sockets; a command has none, and waits until its message is sent.
        self.loop: asyncio.AbstractEventLoop | None = None
        self._queue: deque[tuple[Any, list[str], Message]] = deque()
        self._task: asyncio.Task[None] | None = None
        self._lock = threading.Lock()

    def publish(self, layer: Any, groups: list[str], message: Message) -> None:
        loop = self.loop
        if loop is None or not loop.is_running():
            async_to_sync(_send)(layer, groups, message)
            return
        with self._lock:
            if len(self._queue) >= MAX_QUEUED:
                metrics.DROPPED_EVENTS.labels("server").inc()
                return
            self._queue.append((layer, groups, message))
        loop.call_soon_threadsafe(self._start)

    def _start(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._drain())

    async def _drain(self) -> None:
        while self._queue:
            await _send(*self._queue.popleft())


async def _send(layer: Any, groups: list[str], message: Message) -> None:
    for group in groups:
        try:
            await layer.group_send(group, message)
        except Exception:
            log.exception("group_not_sent", kind=message["type"])


publisher = Publisher()
