"""Load of many sockets: idle ones, and ones that all disconnect and reconnect at once.

Reads its task from stdin, and answers each line with a line."""

import asyncio
import json
import random
import resource
import sys
import time
from uuid import uuid4

import orjson

from tests.bench.minimal_clients import PayloadHandler, Socket, connect

BATCH_SIZE = 50


class Page:
    """A page with an open thread, which has received all messages up to `seq`."""

    def __init__(self, port: int, cookie: str, thread: str) -> None:
        self.port, self.cookie, self.thread = port, cookie, thread
        self.newest, self.seq = "", 0
        self.has_some, self.has_all = asyncio.Event(), asyncio.Event()
        self.expected_seq = 0
        self.socket: Socket | None = None

    async def open(self) -> None:
        self.socket = await connect_with_retry(self.port, self.cookie, self.on_payload)
        position = {"after": self.newest} if self.newest else {}
        self.socket.send_text(
            orjson.dumps({"type": "thread.open", "thread": self.thread, **position})
        )

    def on_payload(self, payload: bytes) -> None:
        if payload.startswith(b'{"type":"thread.synced"'):
            event = orjson.loads(payload)
            for message in event["messages"]:
                self._receive(message)
            if event["more"]:
                request = {"type": "thread.open", "thread": self.thread, "after": self.newest}
                self.socket.send_text(orjson.dumps(request))  # type: ignore[union-attr]
        elif payload.startswith(b'{"type":"message.sent"'):
            self._receive(orjson.loads(payload))

    def _receive(self, message: dict) -> None:
        if message["thread"] == self.thread and self.seq in (0, message["seq"] - 1):
            self.newest, self.seq = message["message"], message["seq"]
            self.has_some.set()
        if self.expected_seq and self.seq >= self.expected_seq:
            self.has_all.set()


async def connect_with_retry(port: int, cookie: str, on_payload: PayloadHandler) -> Socket:
    """Connects and retries with a back-off, as a page does."""
    for attempt in range(20):
        try:
            return await connect(port, cookie, on_payload)
        except OSError:
            await asyncio.sleep(random.uniform(0.1, 0.5) * (1 + attempt))
    raise SystemExit("No connection could be opened.")


async def in_batches(work: list, size: int = BATCH_SIZE) -> None:
    for start in range(0, len(work), size):
        await asyncio.gather(*(each() for each in work[start : start + size]))


async def idle(spec: dict) -> None:
    """Opens idle sockets; a socket counts as open when it has received hello, not when accepted."""
    all_cookies = [cookie for thread in spec["threads"] for cookie in thread["cookies"]]
    sockets: list[Socket] = []

    async def open_one(number: int) -> None:
        has_hello = asyncio.Event()

        def on_payload(payload: bytes) -> None:
            if payload.startswith(b'{"type":"hello"'):
                has_hello.set()

        cookie = all_cookies[number % len(all_cookies)]
        sockets.append(await connect_with_retry(spec["port"], cookie, on_payload))
        await asyncio.wait_for(has_hello.wait(), 60)

    for count in (spec["first"], spec["count"]):
        await in_batches([lambda n=n: open_one(n) for n in range(count)])
        print("open", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
    print(sum(not socket.is_closed for socket in sockets), flush=True)


async def storm(spec: dict) -> None:
    threads = spec["threads"]
    pages = [
        Page(spec["port"], thread["cookies"][1], thread["thread"])
        for number in range(spec["count"])
        for thread in [threads[number % len(threads)]]
    ]
    await in_batches([page.open for page in pages])
    await asyncio.wait_for(asyncio.gather(*(page.has_some.wait() for page in pages)), 120)
    for page in pages:
        page.socket.transport.abort()  # type: ignore[union-attr]
    missed = spec["missed"]
    for page in pages:
        page.expected_seq = page.seq + missed
    await asyncio.gather(*(_send_missed(spec["port"], thread, missed) for thread in threads))
    started_at = time.perf_counter()
    await asyncio.gather(*(page.open() for page in pages))
    await asyncio.wait_for(asyncio.gather(*(page.has_all.wait() for page in pages)), 120)
    incomplete = sum(page.seq < page.expected_seq for page in pages)
    print(
        json.dumps({"seconds": time.perf_counter() - started_at, "lacking": incomplete}), flush=True
    )


async def _send_missed(port: int, thread: dict, count: int) -> None:
    accepted = asyncio.Event()
    left = count

    def on_payload(payload: bytes) -> None:
        nonlocal left
        if payload.startswith(b'{"type":"message.accepted"'):
            left -= 1
            if not left:
                accepted.set()

    socket = await connect(port, thread["cookies"][0], on_payload)
    for number in range(count):
        frame = {"type": "message.send", "thread": thread["thread"], "client_id": str(uuid4())}
        socket.send_text(orjson.dumps(frame | {"body": f"Missed number {number}"}))
    await asyncio.wait_for(accepted.wait(), 60)
    socket.transport.close()


if __name__ == "__main__":
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    task = json.loads(sys.stdin.readline())
    asyncio.run({"idle": idle, "storm": storm}[task["what"]](task))
