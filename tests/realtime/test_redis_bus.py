"""Processes that hear of each other through Redis, whatever comes in between."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from realtime.broadcast.redis_bus import RedisBus

WHO = ["user.mara"]


class Process:
    def __init__(self, prefix: str) -> None:
        self.heard: asyncio.Queue[dict] = asyncio.Queue()
        url = os.environ["PARLEY_TEST_REDIS_URL"]
        self.bus = RedisBus(
            url, prefix, lambda groups, message: self.heard.put_nowait(message), lambda live: None
        )

    async def begin(self) -> None:
        await self.bus.start(asyncio.get_running_loop())

    async def end(self) -> None:
        self.bus._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self.bus._task
        await self.bus._redis.aclose()


@pytest.fixture
async def two() -> AsyncIterator[tuple[Process, Process]]:
    prefix = f"between-{uuid4().hex}"
    processes = Process(prefix), Process(prefix)
    await processes[0].begin()
    yield processes
    for process in processes:
        await process.end()


async def test_whoever_comes_is_told(two):
    first, second = two
    await second.begin()
    first.bus.publish(WHO, {"type": "broadcast.event", "number": 1})
    assert (await asyncio.wait_for(second.heard.get(), 10))["number"] == 1


async def test_whoever_comes_while_we_were_counted_alone_is_told_too(two):
    """Redis counts, somebody comes and says so, and only then the count arrives."""
    first, second = two
    publish = first.bus._redis.publish
    is_counted, may_arrive = asyncio.Event(), asyncio.Event()

    async def publish_and_wait(*words: object) -> int:
        count = await publish(*words)
        is_counted.set()
        await may_arrive.wait()
        return count

    first.bus._redis.publish = publish_and_wait
    beat = asyncio.create_task(first.bus._publish(first.bus._signal("beat")))
    await is_counted.wait()
    await second.begin()
    may_arrive.set()
    assert await beat == 1
    first.bus.publish(WHO, {"type": "broadcast.event", "number": 1})
    assert (await asyncio.wait_for(second.heard.get(), 10))["number"] == 1
