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
# As the page does.
FIRST_HEARTBEAT_SECONDS, HEARTBEAT_SECONDS = 3.5, 25.0


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


async def heartbeats(spec: dict) -> None:
    """Opens pages that show a thread and ping as the page does; each phase ends with a line."""
    pages = [
        PingingPage(spec["port"], cookie, thread["thread"])
        for number in range(spec["first"] + spec["count"])
        for thread in [spec["threads"][number // 2 % len(spec["threads"])]]
        for cookie in [thread["cookies"][number % 2]]
    ]
    first, others = pages[: spec["first"]], pages[spec["first"] :]
    await in_batches([page.connect for page in first])
    await in_batches([page.show for page in first])
    await report_and_wait()
    await in_batches([page.connect for page in others])
    await report_and_wait()
    await in_batches([page.show for page in others])
    await report_and_wait()
    for _ in range(spec["pings"]):
        await in_batches([page.ping for page in pages])
    await report_and_wait()
    print(sum(not page.socket.is_closed for page in pages), flush=True)  # type: ignore[union-attr]


async def report_and_wait() -> None:
    print("open", flush=True)
    await asyncio.to_thread(sys.stdin.readline)


class PingingPage(Page):
    """A page that also sends heartbeats."""

    def __init__(self, port: int, cookie: str, thread: str) -> None:
        super().__init__(port, cookie, thread)
        self.has_hello, self.has_pong = asyncio.Event(), asyncio.Event()

    async def connect(self) -> None:
        self.socket = await connect_with_retry(self.port, self.cookie, self.on_payload)
        await asyncio.wait_for(self.has_hello.wait(), 60)

    async def show(self) -> None:
        self.socket.send_text(orjson.dumps({"type": "thread.open", "thread": self.thread}))  # type: ignore[union-attr]
        await asyncio.wait_for(self.has_some.wait(), 60)
        self.heartbeats = asyncio.create_task(self._send_heartbeats())

    async def _send_heartbeats(self) -> None:
        await asyncio.sleep(FIRST_HEARTBEAT_SECONDS)
        while True:
            self._send_ping()
            await asyncio.sleep(HEARTBEAT_SECONDS)

    async def ping(self) -> None:
        self.has_pong.clear()
        self._send_ping()
        await asyncio.wait_for(self.has_pong.wait(), 60)

    def _send_ping(self) -> None:
        position = {"thread": self.thread, "seq": self.seq, "rev": 0}
        frame = {"type": "ping", "t": int(time.time() * 1000), **position}
        self.socket.send_text(orjson.dumps(frame))  # type: ignore[union-attr]

    def on_payload(self, payload: bytes) -> None:
        if payload.startswith(b'{"type":"pong"'):
            self.has_pong.set()
        elif payload.startswith(b'{"type":"hello"'):
            self.has_hello.set()
        else:
            super().on_payload(payload)


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
    asyncio.run({"idle": idle, "heartbeats": heartbeats, "storm": storm}[task["what"]](task))
