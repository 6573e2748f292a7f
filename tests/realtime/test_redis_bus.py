"""Processes receive each other's events through the Redis bus."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from realtime.broadcast import redis_bus
from realtime.broadcast.redis_bus import RedisBus
from tests.wait import async_wait_until

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


# --- Lost messages


@pytest.fixture
def quick(monkeypatch):
    """Shorter intervals, so that a test does not take half a minute."""
    monkeypatch.setattr(redis_bus, "BEAT_SECONDS", 0.1)
    monkeypatch.setattr(redis_bus, "SILENCE_SECONDS", 1.0)


def gaps(process: Process) -> int:
    return process.bus.detector.gaps


async def publish_and_receive(sender: Process, recipient: Process, number: int) -> None:
    sender.bus.publish(GROUPS, {"type": "broadcast.event", "number": number})
    received = await asyncio.wait_for(recipient.received.get(), 10)
    assert received["number"] == number


async def beats(process: Process) -> None:
    """Waits for several heartbeats of the other process."""
    before = process.bus._received
    await async_wait_until(lambda: process.bus._received > before + 3)


async def test_messages_that_arrive_are_no_gap(quick, two_processes):
    first, second = two_processes
    await second.start()
    before = gaps(first), gaps(second)
    for number in range(30):
        await publish_and_receive(first, second, number)
        await publish_and_receive(second, first, number)
        if number % 10 == 0:
            await beats(second)
    assert (gaps(first), gaps(second)) == before


async def test_the_last_message_is_missed_without_another_one(quick, two_processes, monkeypatch):
    first, second = two_processes
    await second.start()
    await publish_and_receive(first, second, 1)
    before, receive = gaps(second), second.bus._receive

    def lose(data: bytes) -> None:
        if b" tell " not in data:
            receive(data)

    with monkeypatch.context() as patch:
        patch.setattr(second.bus, "_receive", lose)
        first.bus.publish(GROUPS, {"type": "broadcast.event", "number": 2})
        await async_wait_until(lambda: gaps(second) > before)
    await publish_and_receive(first, second, 3)
    await beats(second)
    assert gaps(second) == before + 1, "It is counted once."


async def test_a_message_that_was_dropped_before_it_was_sent_is_missed(
    quick, two_processes, monkeypatch
):
    first, second = two_processes
    await second.start()
    await publish_and_receive(first, second, 1)
    before = gaps(second)
    with monkeypatch.context() as patch:
        patch.setattr(redis_bus, "MAX_QUEUED", 0)
        first.bus.publish(GROUPS, {"type": "broadcast.event", "number": 2})
    await async_wait_until(lambda: gaps(second) > before)


async def test_an_event_that_was_not_built_because_nobody_seemed_connected_is_missed(
    quick, two_processes
):
    """The other process has started in that moment."""
    first, second = two_processes
    await second.start()
    await publish_and_receive(first, second, 1)
    before = gaps(second)
    first.bus.publish([], {"type": "broadcast.event"})
    await async_wait_until(lambda: gaps(second) > before)
    assert second.received.empty()


async def test_a_process_that_falls_silent_may_have_written_before(quick, two_processes):
    """It may have died between a write and its publication."""
    first, second = two_processes
    await second.start()
    await publish_and_receive(second, first, 1)
    before = gaps(first)
    await second.stop()
    await async_wait_until(lambda: gaps(first) > before)


async def test_a_new_subscription_may_have_missed_messages(quick, two_processes, monkeypatch):
    first, second = two_processes
    await second.start()
    await publish_and_receive(first, second, 1)
    before, receive = gaps(second), second.bus._receive

    def break_once(data: bytes) -> None:
        monkeypatch.setattr(second.bus, "_receive", receive)
        raise ConnectionError("The subscription is lost.")

    monkeypatch.setattr(second.bus, "_receive", break_once)
    await async_wait_until(lambda: gaps(second) > before)
    await publish_and_receive(first, second, 2)


async def test_a_process_of_an_earlier_version_is_received(two_processes):
    """Its messages have no number."""
    first, second = two_processes
    await second.start()
    before = gaps(second)
    message = b'0123456789abcdef tell [{"to": ["user.mara"], "type": "tell", "number": 7}]'
    for data in (message, b"0123456789abcdef beat"):
        await first.bus._redis.publish(first.bus.channel, data)
    received = await asyncio.wait_for(second.received.get(), 10)
    assert (received["number"], received["type"]) == (7, "broadcast.event")
    assert gaps(second) == before


async def test_a_command_that_publishes_and_ends_is_no_gap(quick, two_processes):
    first, second = two_processes
    await second.start()
    before = gaps(second)
    command = Process(first.bus.channel.removesuffix(":live"))
    for number in range(2):
        await asyncio.to_thread(
            command.bus.publish_now, [(GROUPS, {"type": "broadcast.event", "number": number})]
        )
        assert (await asyncio.wait_for(second.received.get(), 10))["number"] == number
    await asyncio.sleep(1.5)
    assert gaps(second) == before
