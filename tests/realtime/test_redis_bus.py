"""Processes receive each other's events through the Redis bus."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from realtime.broadcast.redis_bus import RedisBus

GROUPS = ["user.mara"]


class Process:
    def __init__(self, prefix: str) -> None:
        self.received: asyncio.Queue[dict] = asyncio.Queue()
        url = os.environ["PARLEY_TEST_REDIS_URL"]
        self.bus = RedisBus(
            url,
            prefix,
            lambda groups, message: self.received.put_nowait(message),
            lambda live: None,
        )

    async def start(self) -> None:
        await self.bus.start(asyncio.get_running_loop())

    async def stop(self) -> None:
        self.bus._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self.bus._task
        await self.bus._redis.aclose()


@pytest.fixture
async def two_processes() -> AsyncIterator[tuple[Process, Process]]:
    prefix = f"between-{uuid4().hex}"
    processes = Process(prefix), Process(prefix)
    await processes[0].start()
    yield processes
    for process in processes:
        await process.stop()


async def test_a_new_subscriber_receives_events(two_processes):
    first, second = two_processes
    await second.start()
    first.bus.publish(GROUPS, {"type": "broadcast.event", "number": 1})
    assert (await asyncio.wait_for(second.received.get(), 10))["number"] == 1


async def test_a_process_that_subscribes_during_the_count_receives_events(two_processes):
    """Redis counts the subscribers, another process subscribes, and only then the count arrives."""
    first, second = two_processes
    publish = first.bus._redis.publish
    is_counted, may_arrive = asyncio.Event(), asyncio.Event()

    async def publish_and_wait(*arguments: object) -> int:
        count = await publish(*arguments)
        is_counted.set()
        await may_arrive.wait()
        return count

    first.bus._redis.publish = publish_and_wait
    beat = asyncio.create_task(first.bus._publish(first.bus._signal("beat")))
    await is_counted.wait()
    await second.start()
    may_arrive.set()
    assert await beat == 1
    first.bus.publish(GROUPS, {"type": "broadcast.event", "number": 1})
    assert (await asyncio.wait_for(second.received.get(), 10))["number"] == 1
