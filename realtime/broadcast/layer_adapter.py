"""Adapts consumers and publishers to any channel layer.

Our own layer has queues with callbacks, and publishes from any thread. On other layers a task reads
the channel of each connection and a task publishes, using only the interface of Channels.
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
from realtime.broadcast.channel_layer import ChannelLayer, ChannelQueue, LayerMessage

log = structlog.get_logger(__name__)

RETRY_SECONDS = 1.0
# Messages that may wait for the layer; more are dropped, which pages detect by `seq`.
MAX_QUEUED = 10_000


@contextlib.contextmanager
def channel_queue(layer: Any, channel: str) -> Iterator[ChannelQueue]:
    """The queue of a new channel, until its connection ends."""
    if isinstance(layer, ChannelLayer):
        try:
            yield layer.queues[channel]
        finally:
            layer.remove_channel(channel)
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
            log.warning("channel_read_failed", exc_info=True)
            await asyncio.sleep(RETRY_SECONDS)


def find_gaps(layer: Any) -> int | None:
    """Increases when the layer may have lost messages; None if the layer cannot tell."""
    return layer.gaps if isinstance(layer, ChannelLayer) else None


def can_reach(group: str) -> bool:
    """False if no connection of any process is in the group; True if the layer cannot tell."""
    layer: Any = get_channel_layer()
    return layer.can_reach(group) if isinstance(layer, ChannelLayer) else True


def send_to_groups(groups: list[str], message: LayerMessage) -> None:
    """Can be called from any thread and does not wait; keeps the order of each thread."""
    layer: Any = get_channel_layer()
    if isinstance(layer, ChannelLayer):
        layer.publish(groups, message)
    else:
        publisher.publish(layer, groups, message)


class Publisher:
    """Sends messages to the groups of a layer, in order, on the event loop."""

    def __init__(self) -> None:
        # The loop of the connections. A management command has none, and sends synchronously.
        self.loop: asyncio.AbstractEventLoop | None = None
        self._queue: deque[tuple[Any, list[str], LayerMessage]] = deque()
        self._task: asyncio.Task[None] | None = None
        self._lock = threading.Lock()

    def publish(self, layer: Any, groups: list[str], message: LayerMessage) -> None:
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


async def _send(layer: Any, groups: list[str], message: LayerMessage) -> None:
    for group in groups:
        try:
            await layer.group_send(group, message)
        except Exception:
            log.exception("publish_failed", kind=message["type"])


publisher = Publisher()
