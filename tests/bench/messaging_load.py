"""Load of users who exchange messages, in pairs or many in one thread. Reads its task from stdin as
JSON, prints `ready`, waits for a line, and prints the result as one line of JSON."""

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

# Messages of average length, which differ so that no cache of texts helps.
BODY = "Could we move the {} to the {}? The light in the {} is best before the {}, I think."
WORDS = (
    *("shoot", "morning", "hall", "lunch", "garden", "evening", "studio", "weekend", "kitchen"),
    *("portrait", "harbour", "rehearsal", "stairs", "bakery", "window", "spring", "courtyard"),
)
# At most once a second for each thread, as the page does.
MARK_INTERVAL_SECONDS = 1.0
TIMEOUT_SECONDS = 60.0


def random_body() -> str:
    return BODY.format(*random.choices(WORDS, k=4))


@dataclass
class Conversation:
    """Messages of one sender in one thread, which are delivered to the other participants."""

    thread: str
    in_flight: int
    listener: "Listener"
    sent_at: dict[str, float] = field(default_factory=dict)
    remaining: dict[str, int] = field(default_factory=dict)

    @property
    def sender(self) -> Socket:
        assert self.listener.socket is not None
        return self.listener.socket

    def send_message(self) -> None:
        client_id = str(uuid4())
        self.sent_at[client_id] = time.perf_counter()
        self.sender.send_text(
            orjson.dumps(
                {
                    "type": "message.send",
                    "thread": self.thread,
                    "client_id": client_id,
                    "body": random_body(),
                    "seen_seq": self.listener.last_seq,
                    "after_seq": self.listener.last_seq or None,
                }
            )
        )


class Listener:
    """A participant who receives each message once and in order, and sends cursors."""

    def __init__(self, load: "Load", thread: str, command: str) -> None:
        self.load, self.thread, self.command = load, thread, command
        self.last_seq = 0
        self.newest: dict | None = None
        self.marked_at = 0.0
        self.socket: Socket | None = None
        self.has_opened = asyncio.Event()

    def on_payload(self, payload: bytes) -> None:
        # Most frames are not counted, so only their type is read.
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
        self.load.record_delivery(self, event)
        if self.command and time.perf_counter() - self.marked_at > MARK_INTERVAL_SECONDS:
            self.mark()

    def mark(self) -> None:
        self.marked_at = time.perf_counter()
        event = self.newest or {}
        fields = {name: event[name] for name in ("thread", "message", "seq", "tally")}
        self.socket.send_text(orjson.dumps({"type": self.command, **fields}))  # type: ignore[union-attr]


class Load:
    def __init__(self, spec: dict) -> None:
        self.spec = spec
        self.conversations: list[Conversation] = []
        self.latencies: list[float] = []
        self.deliveries = 0
        self.finished = 0
        self.out_of_order = 0
        self.errors: list[str] = []
        self.sockets: list[Socket] = []
        self.ends_at = 0.0

    async def connect(self) -> None:
        """Connects and syncs all sockets, whose cost is not part of the measurement."""
        listeners: list[Listener] = []
        for number, thread in enumerate(self.spec["threads"]):
            command = "thread.mark_read" if number % 2 == 0 else "thread.mark_delivered"
            for position, cookie in enumerate(thread["cookies"]):
                is_sender = position < thread["senders"]
                listener = Listener(self, thread["thread"], "" if is_sender else command)
                socket = await connect(self.spec["port"], cookie, listener.on_payload)
                listener.socket = socket
                listeners.append(listener)
                self.sockets.append(socket)
                socket.send_text(orjson.dumps({"type": "thread.open", "thread": thread["thread"]}))
                if is_sender:
                    conversation = Conversation(thread["thread"], self.spec["in_flight"], listener)
                    self.conversations.append(conversation)
        opened = (listener.has_opened.wait() for listener in listeners)
        await asyncio.wait_for(asyncio.gather(*opened), TIMEOUT_SECONDS)
        # Time for the presence events of the new connections.
        await asyncio.sleep(1.0)

    def record_delivery(self, listener: Listener, event: dict) -> None:
        now = time.perf_counter()
        for conversation in self._by_thread[listener.thread]:
            started_at = conversation.sent_at.get(event["client_id"])
            if started_at is None or listener.socket is conversation.sender:
                continue
            self.deliveries += now < self.ends_at
            missing = conversation.remaining.setdefault(event["client_id"], self._others) - 1
            conversation.remaining[event["client_id"]] = missing
            if now < self.ends_at:
                self.latencies.append(now - started_at)
            if missing == 0:
                del (
                    conversation.sent_at[event["client_id"]],
                    conversation.remaining[event["client_id"]],
                )
                self.finished += 1
                if now < self.ends_at:
                    conversation.send_message()
            return

    async def run(self) -> dict:
        self._by_thread: dict[str, list[Conversation]] = {}
        for conversation in self.conversations:
            self._by_thread.setdefault(conversation.thread, []).append(conversation)
        self._others = len(self.spec["threads"][0]["cookies"]) - 1
        started_at = time.perf_counter()
        self.ends_at = started_at + self.spec["seconds"]
        for conversation in self.conversations:
            for _ in range(conversation.in_flight):
                conversation.send_message()
        await asyncio.sleep(self.spec["seconds"])
        await async_poll_until(lambda: not self._is_waiting(), TIMEOUT_SECONDS, interval=0.01)
        return {
            "seconds": self.spec["seconds"],
            "deliveries": self.deliveries,
            "messages": self.deliveries / self._others,
            # Includes messages still in transit at the end, which also cost processor time.
            "messages_in_all": self.finished,
            "missing": sum(len(conversation.sent_at) for conversation in self.conversations),
            "out_of_order": self.out_of_order,
            "errors": self.errors[:3],
            "latencies": sorted(self.latencies),
        }

    def _is_waiting(self) -> bool:
        return any(conversation.sent_at for conversation in self.conversations)


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
