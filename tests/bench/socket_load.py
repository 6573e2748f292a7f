"""Many sockets: quiet ones, and ones that all drop and come back at once.

Told what to do on stdin; answers each line with a line."""

import asyncio
import json
import random
import resource
import sys
import time
from uuid import uuid4

import orjson

from tests.bench.minimal_clients import Heard, Socket, connect

AT_ONCE = 50


class Page:
    """A page that has a thread open, and holds all of it up to some message."""

    def __init__(self, port: int, cookie: str, thread: str) -> None:
        self.port, self.cookie, self.thread = port, cookie, thread
        self.newest, self.seq = "", 0
        self.has_some, self.has_all = asyncio.Event(), asyncio.Event()
        self.waits_for = 0
        self.socket: Socket | None = None

    async def open(self) -> None:
        self.socket = await come(self.port, self.cookie, self.hear)
        place = {"after": self.newest} if self.newest else {}
        self.socket.say(orjson.dumps({"type": "thread.open", "thread": self.thread, **place}))

    def hear(self, payload: bytes) -> None:
        if payload.startswith(b'{"type":"thread.synced"'):
            event = orjson.loads(payload)
            for message in event["messages"]:
                self._take(message)
            if event["more"]:
                ask = {"type": "thread.open", "thread": self.thread, "after": self.newest}
                self.socket.say(orjson.dumps(ask))  # type: ignore[union-attr]
        elif payload.startswith(b'{"type":"message.sent"'):
            self._take(orjson.loads(payload))

    def _take(self, message: dict) -> None:
        if message["thread"] == self.thread and self.seq in (0, message["seq"] - 1):
            self.newest, self.seq = message["message"], message["seq"]
            self.has_some.set()
        if self.waits_for and self.seq >= self.waits_for:
            self.has_all.set()


async def come(port: int, cookie: str, heard: Heard) -> Socket:
    """As a page does: again, if nobody opened in time."""
    for attempt in range(20):
        try:
            return await connect(port, cookie, heard)
        except OSError:
            await asyncio.sleep(random.uniform(0.1, 0.5) * (1 + attempt))
    raise SystemExit("Nobody opens.")


async def in_batches(work: list, size: int = AT_ONCE) -> None:
    for begin in range(0, len(work), size):
        await asyncio.gather(*(each() for each in work[begin : begin + size]))


async def idle(spec: dict) -> None:
    """So many sockets, which say nothing. Open is one that was greeted: accepted it is earlier."""
    everybody = [cookie for one in spec["threads"] for cookie in one["cookies"]]
    sockets: list[Socket] = []

    async def open_one(number: int) -> None:
        greeted = asyncio.Event()

        def hear(payload: bytes) -> None:
            if payload.startswith(b'{"type":"hello"'):
                greeted.set()

        cookie = everybody[number % len(everybody)]
        sockets.append(await come(spec["port"], cookie, hear))
        await asyncio.wait_for(greeted.wait(), 60)

    for count in (spec["first"], spec["count"]):
        await in_batches([lambda n=n: open_one(n) for n in range(count)])
        print("open", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
    print(sum(not socket.is_closed for socket in sockets), flush=True)


async def storm(spec: dict) -> None:
    threads = spec["threads"]
    pages = [
        Page(spec["port"], one["cookies"][1], one["thread"])
        for number in range(spec["count"])
        for one in [threads[number % len(threads)]]
    ]
    await in_batches([page.open for page in pages])
    await asyncio.wait_for(asyncio.gather(*(page.has_some.wait() for page in pages)), 120)
    for page in pages:
        page.socket.transport.abort()  # type: ignore[union-attr]
    missed = spec["missed"]
    for page in pages:
        page.waits_for = page.seq + missed
    await asyncio.gather(*(_write(spec["port"], one, missed) for one in threads))
    begun = time.perf_counter()
    await asyncio.gather(*(page.open() for page in pages))
    await asyncio.wait_for(asyncio.gather(*(page.has_all.wait() for page in pages)), 120)
    lacking = sum(page.seq < page.waits_for for page in pages)
    print(json.dumps({"seconds": time.perf_counter() - begun, "lacking": lacking}), flush=True)


async def _write(port: int, one: dict, count: int) -> None:
    accepted = asyncio.Event()
    left = count

    def hear(payload: bytes) -> None:
        nonlocal left
        if payload.startswith(b'{"type":"message.accepted"'):
            left -= 1
            if not left:
                accepted.set()

    socket = await connect(port, one["cookies"][0], hear)
    for number in range(count):
        frame = {"type": "message.send", "thread": one["thread"], "client_id": str(uuid4())}
        socket.say(orjson.dumps(frame | {"body": f"Missed number {number}"}))
    await asyncio.wait_for(accepted.wait(), 60)
    socket.transport.close()


if __name__ == "__main__":
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    told = json.loads(sys.stdin.readline())
    asyncio.run({"idle": idle, "storm": storm}[told["what"]](told))
