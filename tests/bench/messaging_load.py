"""A process of people who talk: pairs, or many in one thread. Told what to do on stdin, as JSON;
says `ready`, waits for a line, and answers with one line of JSON."""

import asyncio
import json
import random
import sys
import time
from dataclasses import dataclass, field
from uuid import uuid4

import orjson

from tests.bench.minimal_clients import Socket, connect
from tests.wait import async_poll_until

# As long as people write on average, and never the same twice: what was said is looked at anew.
BODY = "Could we move the {} to the {}? The light in the {} is best before the {}, I think."
WORDS = (
    *("shoot", "morning", "hall", "lunch", "garden", "evening", "studio", "weekend", "kitchen"),
    *("portrait", "harbour", "rehearsal", "stairs", "bakery", "window", "spring", "courtyard"),
)
# As the page does it: at most once a second for each thread.
MARK_EVERY = 1.0
TIMEOUT_SECONDS = 60.0


def something_to_say() -> str:
    return BODY.format(*random.choices(WORDS, k=4))


@dataclass
class Talk:
    """What is said in one thread by one person, and heard by the others in it."""

    thread: str
    in_flight: int
    listener: "Listener"
    said: dict[str, float] = field(default_factory=dict)
    waits_for: dict[str, int] = field(default_factory=dict)

    @property
    def sender(self) -> Socket:
        assert self.listener.socket is not None
        return self.listener.socket

    def say(self) -> None:
        client_id = str(uuid4())
        self.said[client_id] = time.perf_counter()
        self.sender.say(
            orjson.dumps(
                {
                    "type": "message.send",
                    "thread": self.thread,
                    "client_id": client_id,
                    "body": something_to_say(),
                    "seen_seq": self.listener.last_seq,
                }
            )
        )


class Listener:
    """One who hears: everything once, in order; and says how far they have got."""

    def __init__(self, load: "Load", thread: str, command: str) -> None:
        self.load, self.thread, self.command = load, thread, command
        self.last_seq = 0
        self.newest: dict | None = None
        self.marked_at = 0.0
        self.socket: Socket | None = None
        self.has_opened = asyncio.Event()

    def hear(self, payload: bytes) -> None:
        # Most of what comes is not for counting: looked at only as far as its type.
        if payload.startswith(b'{"type":"message.sent"'):
            self._on_message(orjson.loads(payload))
        elif payload.startswith(b'{"type":"thread.synced"'):
            self.has_opened.set()
        elif payload.startswith(b'{"type":"error"'):
            self.load.errors.append(payload.decode())

    def _on_message(self, event: dict) -> None:
        seq = event["seq"]
        if self.last_seq and seq != self.last_seq + 1:
            self.load.out_of_order += 1
        self.last_seq = seq
        self.newest = event
        self.load.heard(self, event)
        if self.command and time.perf_counter() - self.marked_at > MARK_EVERY:
            self.mark()

    def mark(self) -> None:
        self.marked_at = time.perf_counter()
        event = self.newest or {}
        fields = {name: event[name] for name in ("thread", "message", "seq", "tally")}
        self.socket.say(orjson.dumps({"type": self.command, **fields}))  # type: ignore[union-attr]


class Load:
    def __init__(self, spec: dict) -> None:
        self.spec = spec
        self.talks: list[Talk] = []
        self.latencies: list[float] = []
        self.deliveries = 0
        self.finished = 0
        self.out_of_order = 0
        self.errors: list[str] = []
        self.sockets: list[Socket] = []
        self.ends_at = 0.0

    async def connect(self) -> None:
        """Until all have what was there before: what that costs is not what sending costs."""
        listeners: list[Listener] = []
        for number, one in enumerate(self.spec["threads"]):
            command = "thread.mark_read" if number % 2 == 0 else "thread.mark_delivered"
            for place, cookie in enumerate(one["cookies"]):
                is_sender = place < one["senders"]
                listener = Listener(self, one["thread"], "" if is_sender else command)
                socket = await connect(self.spec["port"], cookie, listener.hear)
                listener.socket = socket
                listeners.append(listener)
                self.sockets.append(socket)
                socket.say(orjson.dumps({"type": "thread.open", "thread": one["thread"]}))
                if is_sender:
                    talk = Talk(one["thread"], self.spec["in_flight"], listener)
                    self.talks.append(talk)
        opened = (listener.has_opened.wait() for listener in listeners)
        await asyncio.wait_for(asyncio.gather(*opened), TIMEOUT_SECONDS)
        # What those who came told the others.
        await asyncio.sleep(1.0)

    def heard(self, listener: Listener, event: dict) -> None:
        now = time.perf_counter()
        for talk in self._by_thread[listener.thread]:
            begun = talk.said.get(event["client_id"])
            if begun is None or listener.socket is talk.sender:
                continue
            self.deliveries += now < self.ends_at
            left = talk.waits_for.setdefault(event["client_id"], self._others) - 1
            talk.waits_for[event["client_id"]] = left
            if now < self.ends_at:
                self.latencies.append(now - begun)
            if left == 0:
                del talk.said[event["client_id"]], talk.waits_for[event["client_id"]]
                self.finished += 1
                if now < self.ends_at:
                    talk.say()
            return

    async def run(self) -> dict:
        self._by_thread: dict[str, list[Talk]] = {}
        for talk in self.talks:
            self._by_thread.setdefault(talk.thread, []).append(talk)
        self._others = len(self.spec["threads"][0]["cookies"]) - 1
        begun = time.perf_counter()
        self.ends_at = begun + self.spec["seconds"]
        for talk in self.talks:
            for _ in range(talk.in_flight):
                talk.say()
        await asyncio.sleep(self.spec["seconds"])
        await async_poll_until(lambda: not self._is_waiting(), TIMEOUT_SECONDS, interval=0.01)
        return {
            "seconds": self.spec["seconds"],
            "deliveries": self.deliveries,
            "messages": self.deliveries / self._others,
            # With those that were still on their way when time was up: they cost, too.
            "messages_in_all": self.finished,
            "missing": sum(len(talk.said) for talk in self.talks),
            "out_of_order": self.out_of_order,
            "errors": self.errors[:3],
            "latencies": sorted(self.latencies),
        }

    def _is_waiting(self) -> bool:
        return any(talk.said for talk in self.talks)


async def main() -> None:
    load = Load(json.loads(sys.stdin.readline()))
    await load.connect()
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    print(json.dumps(await load.run()), flush=True)
    for socket in load.sockets:
        socket.transport.close()


if __name__ == "__main__":
    asyncio.run(main())
