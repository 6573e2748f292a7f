"""Between processes: one channel in Redis, on which each publishes and all listen.

A process that is alone publishes nothing. Nobody waits for Redis: what it does not take is dropped,
sockets hear that they are not live, and when it is back all processes greet each other again.
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

log = structlog.get_logger(__name__)

Post = tuple[list[str], dict[str, Any]]

# Between two signs of life; a connection on which our own does not come back is dead.
BEAT, SILENCE = 5.0, 15.0
# For those who are there to answer a greeting.
HELLO_SECONDS = 1.0
# What may wait for Redis; more is dropped.
MAX_QUEUED = 10_000


class RedisBus:
    def __init__(
        self,
        url: str,
        prefix: str,
        heard: Callable[[list[str], dict[str, Any]], None],
        live_changed: Callable[[bool], None],
    ) -> None:
        self.url, self.channel = url, f"{prefix}:live"
        self.me = secrets.token_hex(8)
        self.is_live = True
        self._heard, self._tell_live = heard, live_changed
        # As far as is known; and how often another process was heard.
        self._is_alone, self._news = True, 0
        self._waiting: list[Post] = []
        self._is_joined = False
        self._task: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Until the others know of us, or Redis is known to be away."""
        if self._loop is not loop:
            self._loop = loop
            self._start(loop)
        await self._has_tried.wait()

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._has_post, self._has_tried = asyncio.Event(), asyncio.Event()
        self._redis = Redis.from_url(self.url, socket_connect_timeout=2, socket_timeout=SILENCE)
        self._task = loop.create_task(self._run())

    # --- Publishing

    def publish(self, groups: list[str], message: dict[str, Any]) -> None:
        if self._is_alone:
            return
        if len(self._waiting) >= MAX_QUEUED or not self._is_joined:
            metrics.DROPPED_EVENTS.labels("server").inc()
            return
        self._waiting.append((groups, message))
        self._has_post.set()

    def publish_now(self, posts: list[Post]) -> None:
        """From a process that has no event loop, and so hears of nobody."""
        if not redis_outage.can_try():
            return
        try:
            with (
                redis_outage.tracked(),
                redis.Redis.from_url(
                    self.url, socket_timeout=2, socket_connect_timeout=2
                ) as connection,
            ):
                connection.publish(self.channel, self._packed(posts))
        except REDIS_ERRORS:
            log.info("not_published")

    def _packed(self, posts: list[Post]) -> bytes:
        return b"%s tell %s" % (self.me.encode(), orjson.dumps([_shown(*post) for post in posts]))

    async def _publish_forever(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(BEAT):
                    await self._has_post.wait()
            self._has_post.clear()
            posts, self._waiting = self._waiting, []
            await self._say(self._packed(posts) if posts else self._word("beat"))

    async def _say(self, word: bytes) -> int:
        news = self._news
        async with asyncio.timeout(redis_outage.timeout_seconds):
            count = int(await self._redis.publish(self.channel, word))
        # Ourselves, and who else? Somebody who came after it was counted may have been heard since.
        if count > 1 or self._news == news:
            self._is_alone = count <= 1
        return count

    def _word(self, word: str) -> bytes:
        return f"{self.me} {word}".encode()

    # --- Being there

    async def _run(self) -> None:
        while True:
            try:
                with redis_outage.tracked():
                    await self._subscribe()
            except REDIS_ERRORS:
                self._is_joined = False
                self._waiting.clear()
                self._change(live=False)
                self._has_tried.set()
                await asyncio.sleep(PROBE_SECONDS)

    async def _subscribe(self) -> None:
        async with self._redis.pubsub() as subscription:
            await subscription.subscribe(self.channel)
            self._heard_at = time.monotonic()
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
        others = await self._say(self._word("hello")) - 1
        deadline = time.monotonic() + HELLO_SECONDS
        while self._answers < others and time.monotonic() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        redis_outage.end()
        self._is_joined = True
        self._has_tried.set()
        if self.is_live:
            await self._publish_forever()
        else:
            await asyncio.gather(self._publish_forever(), self._confirm_live())

    async def _confirm_live(self) -> None:
        """Other processes may come back a moment later, and tell nobody anything until then."""
        await asyncio.sleep(2 * PROBE_SECONDS)
        self._change(live=True)

    async def _listen(self, subscription: Any) -> None:
        while True:
            message = await subscription.get_message(ignore_subscribe_messages=True, timeout=BEAT)
            if message is not None:
                self._hear(message["data"])
            if time.monotonic() - self._heard_at > SILENCE:
                raise redis.ConnectionError("Nothing comes back.")

    def _hear(self, data: bytes) -> None:
        sender, _, said = data.decode().partition(" ")
        if sender == self.me:
            self._heard_at = time.monotonic()
            return
        self._is_alone, self._news = False, self._news + 1
        word, _, posts = said.partition(" ")
        if word == "tell":
            for post in orjson.loads(posts):
                self._heard(post.pop("to"), _with_text(post))
            return
        if word == "hello":
            self._answer_hello()
        elif word == "here":
            self._answers += 1

    def _answer_hello(self) -> None:
        answering = asyncio.ensure_future(self._say(self._word("here")))
        answering.add_done_callback(lambda done: done.cancelled() or done.exception())

    def _change(self, *, live: bool) -> None:
        if self.is_live != live:
            self.is_live = live
            self._tell_live(live)


def _shown(groups: list[str], message: dict[str, Any]) -> dict[str, Any]:
    """What was encoded for the sockets here is not encoded again for those elsewhere."""
    plain = {"to": groups, **message}
    # By our own clock.
    plain.pop("at", None)
    if text := plain.pop("text", None):
        plain["event"] = orjson.Fragment(text)
    return plain


def _with_text(message: dict[str, Any]) -> dict[str, Any]:
    """Once, however many sockets there are."""
    if "event" in message:
        message["text"] = orjson.dumps(message["event"]).decode()
    return message
