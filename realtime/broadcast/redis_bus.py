"""The Redis bus between processes: one channel on which every process publishes and listens.

A process that is the only one publishes nothing. Nothing waits for Redis: while it is unavailable,
events are dropped and connections are sent `live.changed`. When it is back, the processes announce
themselves to each other again. Publications are numbered, so that lost ones are detected
(gap_detector.py).
"""

import asyncio
import contextlib
import secrets
import time
from collections.abc import Callable
from typing import Any

import orjson
import redis
import structlog
from redis.asyncio import Redis

from core import metrics
from core.redis_outage import PROBE_SECONDS, REDIS_ERRORS, redis_outage
from realtime.broadcast.gap_detector import GapDetector

log = structlog.get_logger(__name__)

# The groups of a message, and the message.
Post = tuple[list[str], dict[str, Any]]

# A process publishes at least this often; without its own messages the connection is dead.
BEAT_SECONDS, SILENCE_SECONDS = 5.0, 15.0
# How long a new process waits until the others have answered its announcement.
ANNOUNCE_SECONDS = 1.0
# Messages that may wait for Redis; more are dropped.
MAX_QUEUED = 10_000
# The sender of processes that do not listen. They are not numbered, since they end at any time.
UNNUMBERED = b"command"
# Types of messages on the bus, which servers of an earlier version send and expect as well.
WIRE_TYPES = {
    "broadcast.event": "tell",
    "refresh.all.threads": "look.again.everywhere",
    "presence.update": "presence.told",
}
LOCAL_TYPES = {wire: local for local, wire in WIRE_TYPES.items()}


class RedisBus:
    def __init__(
        self,
        url: str,
        prefix: str,
        on_message: Callable[[list[str], dict[str, Any]], None],
        on_live_changed: Callable[[bool], None],
    ) -> None:
        self.url, self.channel = url, f"{prefix}:live"
        self.process_id = secrets.token_hex(8)
        self.is_live = True
        self.detector = GapDetector()
        # The number of publications, including those that were dropped.
        self._number = 0
        self._on_message, self._on_live_changed = on_message, on_live_changed
        # Whether other processes are unknown, and how many messages of others were received.
        self.is_only_process, self._received = True, 0
        self._queue: list[Post] = []
        self._is_joined = False
        self._task: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Returns when the other processes have answered, or Redis is found unavailable."""
        if self._loop is not loop:
            self._loop = loop
            self._start(loop)
        await self._has_tried.wait()

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._has_posts, self._has_tried = asyncio.Event(), asyncio.Event()
        self._redis = Redis.from_url(
            self.url, socket_connect_timeout=2, socket_timeout=SILENCE_SECONDS
        )
        self._task = loop.create_task(self._run())

    # --- Publishing

    def publish(self, groups: list[str], message: dict[str, Any]) -> None:
        if self.is_only_process or not groups:
            # Another process may have subscribed a moment ago.
            self._number += 1
            return
        if len(self._queue) >= MAX_QUEUED or not self._is_joined:
            metrics.DROPPED_EVENTS.labels("server").inc()
            self._number += 1
            return
        self._queue.append((groups, message))
        self._has_posts.set()

    def publish_now(self, posts: list[Post]) -> None:
        """Publishes from a process without an event loop, which does not listen."""
        if not redis_outage.can_try():
            return
        try:
            with (
                redis_outage.tracked(),
                redis.Redis.from_url(
                    self.url, socket_timeout=2, socket_connect_timeout=2
                ) as connection,
            ):
                connection.publish(self.channel, _encode(UNNUMBERED, posts))
        except REDIS_ERRORS:
            log.info("publish_failed")

    async def _publish_forever(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(BEAT_SECONDS):
                    await self._has_posts.wait()
            self._has_posts.clear()
            posts, self._queue = self._queue, []
            self._number += bool(posts)
            await self._publish(_encode(self._sender(), posts) if posts else self._signal("beat"))

    async def _publish(self, data: bytes) -> int:
        received = self._received
        async with asyncio.timeout(redis_outage.timeout_seconds):
            count = int(await self._redis.publish(self.channel, data))
        # Redis counts the subscribers, including this one. A process that subscribed after that
        # may have been received since.
        if count > 1 or self._received == received:
            self.is_only_process = count <= 1
        return count

    def _sender(self) -> bytes:
        return f"{self.process_id}:{self._number}".encode()

    def _signal(self, name: str) -> bytes:
        return b"%s %s" % (self._sender(), name.encode())

    # --- Subscribing

    async def _run(self) -> None:
        while True:
            try:
                with redis_outage.tracked():
                    await self._subscribe()
            except REDIS_ERRORS:
                self._is_joined = False
                self._number += bool(self._queue)
                self._queue.clear()
                self._set_live(live=False)
                self._has_tried.set()
                await asyncio.sleep(PROBE_SECONDS)

    async def _subscribe(self) -> None:
        async with self._redis.pubsub() as subscription:
            await subscription.subscribe(self.channel)
            self._own_message_at = time.monotonic()
            both = [self._listen(subscription), self._announce_and_publish()]
            tasks = [asyncio.ensure_future(each) for each in both]
            try:
                ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                ended.pop().result()
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _announce_and_publish(self) -> None:
        self._answers = 0
        others = await self._publish(self._signal("hello")) - 1
        deadline = time.monotonic() + ANNOUNCE_SECONDS
        while self._answers < others and time.monotonic() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        redis_outage.end()
        self._is_joined = True
        # What was published before the others knew this process is lost.
        self.detector.record_gap()
        self._has_tried.set()
        if self.is_live:
            await self._publish_forever()
        else:
            await asyncio.gather(self._publish_forever(), self._confirm_live())

    async def _confirm_live(self) -> None:
        """Waits for other processes, which may reconnect a moment later and publish nothing yet."""
        await asyncio.sleep(2 * PROBE_SECONDS)
        self._set_live(live=True)

    async def _listen(self, subscription: Any) -> None:
        while True:
            message = await subscription.get_message(
                ignore_subscribe_messages=True, timeout=BEAT_SECONDS
            )
            if message is not None:
                self._receive(message["data"])
            self.detector.forget_silent(SILENCE_SECONDS)
            if time.monotonic() - self._own_message_at > SILENCE_SECONDS:
                raise redis.ConnectionError("Own messages do not arrive.")

    def _receive(self, data: bytes) -> None:
        sender, _, content = data.decode().partition(" ")
        process_id, _, number = sender.partition(":")
        if process_id == self.process_id:
            self._own_message_at = time.monotonic()
            return
        self.is_only_process, self._received = False, self._received + 1
        signal, _, posts = content.partition(" ")
        if number:
            self.detector.record(process_id, int(number), has_posts=signal == "tell")
        if signal == "tell":
            for post in orjson.loads(posts):
                self._on_message(post.pop("to"), _from_wire(post))
            return
        if signal == "hello":
            self._answer_hello()
        elif signal == "here":
            self._answers += 1

    def _answer_hello(self) -> None:
        task = asyncio.ensure_future(self._publish(self._signal("here")))
        task.add_done_callback(lambda done: done.cancelled() or done.exception())

    def _set_live(self, *, live: bool) -> None:
        if self.is_live != live:
            self.is_live = live
            self._on_live_changed(live)


def _encode(sender: bytes, posts: list[Post]) -> bytes:
    return b"%s tell %s" % (sender, orjson.dumps([_to_wire(*post) for post in posts]))


def _to_wire(groups: list[str], message: dict[str, Any]) -> dict[str, Any]:
    """Reuses the event that was encoded for the connections of this process."""
    post = {"to": groups, **message, "type": WIRE_TYPES.get(message["type"], message["type"])}
    # This process's monotonic clock means nothing to others.
    post.pop("at", None)
    if text := post.pop("text", None):
        post["event"] = orjson.Fragment(text)
    return post


def _from_wire(message: dict[str, Any]) -> dict[str, Any]:
    """Encodes the event once for all connections of this process."""
    message["type"] = LOCAL_TYPES.get(message["type"], message["type"])
    if "event" in message:
        message["text"] = orjson.dumps(message["event"]).decode()
    return message
