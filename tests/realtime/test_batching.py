"""Which messages are sent in one batch, and when; test_send_batch covers how a batch is stored."""

import asyncio
import random
import time
from types import SimpleNamespace

import pytest

from realtime.sockets import batching as module
from realtime.sockets.batching import MAX_BATCH_SIZE, MAX_BATCH_SIZE_PER_THREAD, SendBatcher
from tests.wait import async_wait_until


class Store:
    """Records each batch, and completes its write only when the test opens its gate."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.written: list[list] = []
        self.gates: list[asyncio.Event] = []

    async def write(self, batch):
        gate = asyncio.Event()
        self.batches.append([outgoing.thread_id for outgoing in batch])
        self.gates.append(gate)
        await gate.wait()
        self.written.append(batch)
        for outgoing in batch:
            outgoing.is_done, outgoing.message = True, outgoing.thread_id


@pytest.fixture
def store(monkeypatch):
    store = Store()
    monkeypatch.setattr(module, "send_batch_steps", list)
    monkeypatch.setattr(module, "commit_steps_async", store.write)
    return store


@pytest.fixture
def batcher(store):
    """Transactions usually take so long that a slow machine never waits for that time."""
    batcher = SendBatcher()
    batcher._usual_seconds = 60.0
    return batcher


def outgoing(thread_id: str):
    return SimpleNamespace(thread_id=thread_id, refusal=None, message=None, is_done=False)


async def run_pending_tasks():
    for _ in range(5):
        await asyncio.sleep(0)


def submit(batcher, *threads: str):
    return [batcher.submit(outgoing(thread)) for thread in threads]


async def test_messages_that_arrive_together_are_sent_in_one_batch_at_once(store, batcher):
    results = submit(batcher, "a", "b", "c")
    await run_pending_tasks()
    assert store.batches == [["a", "b", "c"]]
    store.gates[0].set()
    assert await asyncio.gather(*results) == ["a", "b", "c"]


async def test_a_message_does_not_wait_for_another_one(store, batcher):
    """Together they would save one transaction, and the second would take twice as long."""
    submit(batcher, "a")
    await run_pending_tasks()
    submit(batcher, "b")
    await run_pending_tasks()
    assert store.batches == [["a"], ["b"]]


async def test_messages_wait_only_while_they_are_fewer_than_those_in_progress(store, batcher):
    submit(batcher, "a", "b", "c")
    await run_pending_tasks()
    submit(batcher, "d", "e")
    await run_pending_tasks()
    assert store.batches == [["a", "b", "c"]]
    submit(batcher, "f")
    await run_pending_tasks()
    assert store.batches == [["a", "b", "c"], ["d", "e", "f"]]


async def test_waiting_messages_are_sent_when_the_write_in_progress_is_done(store, batcher):
    submit(batcher, "a", "b", "c")
    await run_pending_tasks()
    submit(batcher, "d", "e")
    await run_pending_tasks()
    store.gates[0].set()
    await run_pending_tasks()
    assert store.batches[1:] == [["d", "e"]]


async def test_a_full_batch_waits_for_no_larger_one(store, batcher):
    first, second = ([f"{name} {at}" for at in range(MAX_BATCH_SIZE)] for name in "ab")
    submit(batcher, *first)
    await run_pending_tasks()
    submit(batcher, *second)
    await run_pending_tasks()
    assert store.batches == [first, second]
    # Further ones wait for either of the two.
    submit(batcher, *(f"c {at}" for at in range(MAX_BATCH_SIZE)))
    await run_pending_tasks()
    assert len(store.batches) == 2
    store.gates[1].set()
    await run_pending_tasks()
    assert len(store.batches) == 3


async def test_one_busy_thread_does_not_count_for_more_than_its_share(store, batcher):
    submit(batcher, *(f"thread {at}" for at in range(MAX_BATCH_SIZE_PER_THREAD + 1)))
    await run_pending_tasks()
    submit(batcher, *["busy"] * MAX_BATCH_SIZE)
    await run_pending_tasks()
    assert len(store.batches) == 1


async def test_nothing_waits_before_the_duration_of_a_write_is_known(store):
    batcher = SendBatcher()
    submit(batcher, "a", "b", "c")
    await run_pending_tasks()
    submit(batcher, "d")
    await run_pending_tasks()
    assert store.batches == [["a", "b", "c"], ["d"]]


async def test_messages_wait_at_most_for_the_usual_duration_of_a_write(store, batcher):
    batcher._usual_seconds = 0.05
    submit(batcher, "slow", "slower", "slowest")
    await run_pending_tasks()
    started_at = time.monotonic()
    submit(batcher, "a", "b")
    await async_wait_until(lambda: len(store.batches) >= 2, 20 * 0.05, interval=0.0025)
    assert time.monotonic() - started_at >= 0.05
    assert store.batches[1:] == [["a", "b"]]


async def test_the_usual_duration_follows_the_writes(store):
    batcher = SendBatcher()
    for seconds in (0.02, 0.02):
        submit(batcher, "a")
        await run_pending_tasks()
        await asyncio.sleep(seconds)
        store.gates[-1].set()
        await run_pending_tasks()
    slow = batcher._usual_seconds
    assert slow > 0.2 * 0.02
    for _ in range(20):
        submit(batcher, "a")
        await run_pending_tasks()
        store.gates[-1].set()
        await run_pending_tasks()
    assert batcher._usual_seconds < slow / 2


async def test_messages_of_a_thread_wait_for_its_write_in_progress_however_many_they_are(store):
    batcher = SendBatcher()
    submit(batcher, "busy")
    await run_pending_tasks()
    submit(batcher, *["busy"] * 2 * MAX_BATCH_SIZE)
    await run_pending_tasks()
    assert store.batches == [["busy"]]
    store.gates[0].set()
    await run_pending_tasks()
    assert store.batches[1:] == [["busy"] * MAX_BATCH_SIZE_PER_THREAD]


async def test_every_message_is_answered_once_and_in_the_order_of_its_thread(store):
    """Threads, message counts and the completion of writes are in a random order."""
    batcher, chance = SendBatcher(), random.Random(7)
    sent, results = [], []
    for number in range(300):
        one = outgoing(f"thread {chance.randrange(12)}")
        one.number = number
        sent.append(one)
        results.append(batcher.submit(one))
        if chance.random() < 0.3:
            await run_pending_tasks()
        waiting = [gate for gate in store.gates if not gate.is_set()]
        assert len(waiting) <= module.MAX_CONCURRENT_BATCHES
        if waiting and chance.random() < 0.5:
            chance.choice(waiting).set()
    while not all(result.done() for result in results):
        for gate in store.gates:
            gate.set()
        await run_pending_tasks()
    written = [one for batch in store.written for one in batch]
    assert sorted(one.number for one in written) == list(range(300))
    for thread in {one.thread_id for one in sent}:
        numbers = [one.number for one in written if one.thread_id == thread]
        assert numbers == sorted(numbers)
