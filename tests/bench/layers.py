"""`python -m tests.bench.layers`: the cost of a delivery on our channel layer and on others.

Publishes messages to groups of two sockets each and reads them as sockets do, on one server, and
from one server to the sockets of another. Both servers are layers in this process, so that its
processor time covers both; that of Redis is counted as well. Rounds are interleaved and the median
counts.
"""

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import django
import orjson
from channels.layers import InMemoryChannelLayer
from channels_redis.core import RedisChannelLayer
from channels_redis.pubsub import RedisPubSubChannelLayer

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "script"))

import services  # noqa: E402

from realtime.broadcast.channel_layer import ChannelLayer, ChannelQueue  # noqa: E402
from realtime.broadcast.layer_adapter import Publisher, channel_queue  # noqa: E402
from tests.bench.deployment import cpu_of  # noqa: E402
from tests.wait import async_wait_until  # noqa: E402

SOCKETS_PER_GROUP = 2
GROUPS = 20
CAPACITY = 10_000
# Messages sent at once, as in a busy second.
BURST = 20
# Longer than the blocking reads of the layers on Redis, which otherwise end with an error.
SOCKET_TIMEOUT_SECONDS = 60


def make_layers(url: str) -> dict[str, Callable[[], Any]]:
    host = {"address": url, "socket_timeout": SOCKET_TIMEOUT_SECONDS}
    prefix = f"bench-{uuid4().hex}"
    redis = {"hosts": [host], "prefix": prefix}
    return {
        "ours": lambda: ChannelLayer(capacity=CAPACITY, url=url, prefix=prefix),
        "InMemoryChannelLayer": lambda: InMemoryChannelLayer(capacity=CAPACITY),
        "channels_redis pubsub": lambda: RedisPubSubChannelLayer(**redis),
        "channels_redis core": lambda: RedisChannelLayer(capacity=CAPACITY, **redis),
    }


def message(group: str) -> dict[str, Any]:
    event = {"type": "message.sent", "thread": group, "message": uuid4().hex, "html": "x" * 900}
    text = orjson.dumps(event).decode()
    return {"type": "tell", "event": event, "origin": "bench", "text": text}


class Sockets:
    """Twenty users with two sockets each, on one layer."""

    def __init__(self, layer: Any) -> None:
        self.layer, self.count = layer, 0
        self.groups = [f"user.{uuid4().hex}" for _ in range(GROUPS)]

    async def open(self, stack: ExitStack) -> None:
        for group in self.groups:
            for _ in range(SOCKETS_PER_GROUP):
                channel = await self.layer.new_channel()
                queue = stack.enter_context(channel_queue(self.layer, channel))
                await self.layer.group_add(group, channel)
                queue.on_put = lambda queue=queue: self._take(queue)

    def _take(self, queue: ChannelQueue) -> None:
        self.count += len(queue.messages)
        queue.messages.clear()


async def deliver(layer: Any, sockets: Sockets, deliveries: int) -> None:
    """Publishes in bursts, so that a layer can combine messages."""
    publisher = Publisher()
    publisher.loop = asyncio.get_running_loop()
    expected = sockets.count
    for start in range(0, deliveries // SOCKETS_PER_GROUP, BURST):
        for number in range(start, start + BURST):
            group = sockets.groups[number % GROUPS]
            if isinstance(layer, ChannelLayer):
                layer.publish([group], message(group))
            else:
                publisher.publish(layer, [group], message(group))
        expected += BURST * SOCKETS_PER_GROUP
        await async_wait_until(lambda: sockets.count >= expected, 30, interval=0.002)  # noqa: B023


class Measurement:
    def __init__(self, redis_pid: int, deliveries: int) -> None:
        self.redis_pid, self.deliveries = redis_pid, deliveries
        self.seconds: dict[tuple[str, str], list[tuple[float, float]]] = {}

    async def run(self, layers: dict[str, Callable[[], Any]], rounds: int) -> None:
        with ExitStack() as stack:
            pairs = {name: (make(), make()) for name, make in layers.items()}
            opened = {}
            for name, (layer, _) in pairs.items():
                opened[name] = Sockets(layer)
                await opened[name].open(stack)
            for _, other in pairs.values():
                # Our layer publishes to Redis only after it has detected another server.
                await other.new_channel()
            for number in range(rounds + 1):
                for name, (layer, other) in pairs.items():
                    await self._measure(name, "one server", layer, opened[name], number)
                    if name != "InMemoryChannelLayer":
                        await self._measure(name, "two servers", other, opened[name], number)
        # Layers unsubscribe when their readers are cancelled.
        await asyncio.sleep(1)

    async def _measure(
        self, name: str, case: str, layer: Any, sockets: Sockets, number: int
    ) -> None:
        started_at, redis = time.process_time(), cpu_of(self.redis_pid)
        await deliver(layer, sockets, self.deliveries)
        used = time.process_time() - started_at, cpu_of(self.redis_pid) - redis
        if number:
            scale = 1000 / self.deliveries
            one = (used[0] * scale, used[1] * scale)
            self.seconds.setdefault((name, case), []).append(one)

    def lines(self) -> list[str]:
        lines = ["| layer | | servers | Redis |", "| --- | --- | --- | --- |"]
        for (name, case), found in self.seconds.items():
            servers, redis = (statistics.median(each) * 1000 for each in zip(*found, strict=True))
            lines.append(f"| {name} | {case} | {servers:.0f} ms | {redis:.0f} ms |")
        return lines


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.layers", description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--deliveries", type=int, default=2000, help="in each round")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    with tempfile.TemporaryDirectory(prefix="parley-layers-") as folder:
        redis = services.start_valkey(Path(folder))
        with redis.running():
            measurement = Measurement(redis.program.pid, options.deliveries)
            asyncio.run(measurement.run(make_layers(redis.url), options.rounds))
    print("\n".join(measurement.lines()))


if __name__ == "__main__":
    main()
