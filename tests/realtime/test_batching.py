"""Which messages are sent in one batch, and when; test_send_batch covers how it is stored."""

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
    """Writes nothing until it is told to, and says what it was asked to write."""

    def __init__(self) -> None:
        self.groups: list[list[str]] = []
        self.gates: list[asyncio.Event] = []

    async def write(self, sendings):
        gate = asyncio.Event()
        self.groups.append([sending.thread_id for sending in sendings])
        self.gates.append(gate)
        await gate.wait()
        for sending in sendings:
            sending.is_done, sending.message = True, sending.thread_id


@pytest.fixture
def store(monkeypatch):
    store = Store()
    monkeypatch.setattr(module, "send_batch_steps", list)
    monkeypatch.setattr(module, "commit_steps_async", store.write)
    return store


@pytest.fixture
def _patient(monkeypatch):
    """However slow the machine is: nobody has waited for long."""
    monkeypatch.setattr(module, "MAX_LINGER_SECONDS", 60.0)


def sending(thread_id: str):
    return SimpleNamespace(thread_id=thread_id, refusal=None, message=None, is_done=False)


async def settled():
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.mark.usefixtures("_patient")
async def test_while_one_is_on_its_way_a_few_wait_for_it_and_go_together(store):
    batcher = SendBatcher()
    answers = [batcher.submit(sending(thread)) for thread in "abc"]
    await settled()
    assert store.groups == [["a"]]
    store.gates[0].set()
    await settled()
    assert store.groups == [["a"], ["b", "c"]]
    store.gates[1].set()
    assert await asyncio.gather(*answers) == ["a", "b", "c"]


@pytest.mark.usefixtures("_patient")
async def test_a_full_one_goes_along(store):
    batcher = SendBatcher()
    batcher.submit(sending("first"))
    others = [f"thread {number}" for number in range(MAX_BATCH_SIZE)]
    for thread in others[:-1]:
        batcher.submit(sending(thread))
    await settled()
    assert store.groups == [["first"]]
    batcher.submit(sending(others[-1]))
    await settled()
    assert store.groups == [["first"], others]


@pytest.mark.usefixtures("_patient")
async def test_one_busy_thread_does_not_fill_it(store):
    batcher = SendBatcher()
    batcher.submit(sending("first"))
    for _ in range(MAX_BATCH_SIZE):
        batcher.submit(sending("busy"))
    await settled()
    assert store.groups == [["first"]]


async def test_nobody_waits_long_for_a_slow_answer(store):
    batcher = SendBatcher()
    batcher.submit(sending("slow"))
    await asyncio.sleep(0)
    begun = time.monotonic()
    batcher.submit(sending("a"))
    batcher.submit(sending("b"))
    await async_wait_until(
        lambda: len(store.groups) >= 2, 20 * MAX_LINGER_SECONDS, interval=MAX_LINGER_SECONDS / 20
    )
    assert time.monotonic() - begun >= MAX_LINGER_SECONDS
    assert store.groups == [["slow"], ["a", "b"]]
    # And those after them wait for either.
    batcher.submit(sending("c"))
    await asyncio.sleep(2 * MAX_LINGER_SECONDS)
    assert len(store.groups) == 2
    store.gates[1].set()
    await settled()
    assert store.groups[2:] == [["c"]]


async def test_a_thread_that_is_written_to_waits_however_much_waits_in_it(store):
    batcher = SendBatcher()
    for _ in range(2 * MAX_BATCH_SIZE):
        batcher.submit(sending("busy"))
    await asyncio.sleep(2 * MAX_LINGER_SECONDS)
    assert store.groups == [["busy"]]
    store.gates[0].set()
    await settled()
    assert store.groups[1:] == [["busy"] * MAX_BATCH_SIZE_PER_THREAD]
