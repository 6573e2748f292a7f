"""Which messages are sent in one batch, and when; test_send_batch covers how a batch is stored."""

import asyncio
import time
from types import SimpleNamespace

import pytest

from realtime.sockets import batching as module
from realtime.sockets.batching import (
    MAX_BATCH_SIZE,
    MAX_BATCH_SIZE_PER_THREAD,
    MAX_LINGER_SECONDS,
    SendBatcher,
)
from tests.wait import async_wait_until


class Store:
    """Records each batch, and completes its write only when the test opens its gate."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.gates: list[asyncio.Event] = []

    async def write(self, batch):
        gate = asyncio.Event()
        self.batches.append([outgoing.thread_id for outgoing in batch])
        self.gates.append(gate)
        await gate.wait()
        for outgoing in batch:
            outgoing.is_done, outgoing.message = True, outgoing.thread_id


@pytest.fixture
def store(monkeypatch):
    store = Store()
    monkeypatch.setattr(module, "send_batch_steps", list)
    monkeypatch.setattr(module, "commit_steps_async", store.write)
    return store


@pytest.fixture
def _long_linger(monkeypatch):
    """Sets the linger time so high that a slow machine never reaches it."""
    monkeypatch.setattr(module, "MAX_LINGER_SECONDS", 60.0)


def outgoing(thread_id: str):
    return SimpleNamespace(thread_id=thread_id, refusal=None, message=None, is_done=False)


async def run_pending_tasks():
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.mark.usefixtures("_long_linger")
async def test_messages_queued_during_a_write_are_sent_in_one_batch(store):
    batcher = SendBatcher()
    results = [batcher.submit(outgoing(thread)) for thread in "abc"]
    await run_pending_tasks()
    assert store.batches == [["a"]]
    store.gates[0].set()
    await run_pending_tasks()
    assert store.batches == [["a"], ["b", "c"]]
    store.gates[1].set()
    assert await asyncio.gather(*results) == ["a", "b", "c"]


@pytest.mark.usefixtures("_long_linger")
async def test_a_full_batch_does_not_wait_for_the_write_in_progress(store):
    batcher = SendBatcher()
    batcher.submit(outgoing("first"))
    others = [f"thread {number}" for number in range(MAX_BATCH_SIZE)]
    for thread in others[:-1]:
        batcher.submit(outgoing(thread))
    await run_pending_tasks()
    assert store.batches == [["first"]]
    batcher.submit(outgoing(others[-1]))
    await run_pending_tasks()
    assert store.batches == [["first"], others]


@pytest.mark.usefixtures("_long_linger")
async def test_one_busy_thread_does_not_fill_a_batch(store):
    batcher = SendBatcher()
    batcher.submit(outgoing("first"))
    for _ in range(MAX_BATCH_SIZE):
        batcher.submit(outgoing("busy"))
    await run_pending_tasks()
    assert store.batches == [["first"]]


async def test_a_slow_write_delays_other_messages_at_most_by_the_linger_time(store):
    batcher = SendBatcher()
    batcher.submit(outgoing("slow"))
    await asyncio.sleep(0)
    started_at = time.monotonic()
    batcher.submit(outgoing("a"))
    batcher.submit(outgoing("b"))
    await async_wait_until(
        lambda: len(store.batches) >= 2, 20 * MAX_LINGER_SECONDS, interval=MAX_LINGER_SECONDS / 20
    )
    assert time.monotonic() - started_at >= MAX_LINGER_SECONDS
    assert store.batches == [["slow"], ["a", "b"]]
    # The next batch waits for either of the two.
    batcher.submit(outgoing("c"))
    await asyncio.sleep(2 * MAX_LINGER_SECONDS)
    assert len(store.batches) == 2
    store.gates[1].set()
    await run_pending_tasks()
    assert store.batches[2:] == [["c"]]


async def test_messages_of_a_thread_wait_for_its_write_in_progress_however_many_they_are(store):
    batcher = SendBatcher()
    for _ in range(2 * MAX_BATCH_SIZE):
        batcher.submit(outgoing("busy"))
    await asyncio.sleep(2 * MAX_LINGER_SECONDS)
    assert store.batches == [["busy"]]
    store.gates[0].set()
    await run_pending_tasks()
    assert store.batches[1:] == [["busy"] * MAX_BATCH_SIZE_PER_THREAD]
