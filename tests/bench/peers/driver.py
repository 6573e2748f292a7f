"""The load of the comparison, in a separate process. Reads its task from stdin as JSON, prints
`ready`, waits for a line, and prints the result as one line of JSON."""

import asyncio
import json
import random
import sys
import time
from collections.abc import Hashable
from typing import Any

from tests.bench.peers.bodies import random_body
from tests.bench.peers.client import Client
from tests.bench.peers.websocket_clients import ParleyClient, PrivateChatClient
from tests.bench.peers.xmpp import XmppClient
from tests.wait import async_poll_until

PROTOCOLS: dict[str, type[Client]] = {
    "parley": ParleyClient,
    "private_chat": PrivateChatClient,
    "xmpp": XmppClient,
}
# At most once a second for each conversation, as Parley's page does.
MARK_INTERVAL_SECONDS = 1.0
PING_INTERVAL_SECONDS = 25.0
TIMEOUT_SECONDS = 60.0


class Conversation:
    """Messages of one user to another."""

    def __init__(self, load: "Load", accounts: list[dict[str, Any]]) -> None:
        self.load = load
        client = PROTOCOLS[load.spec["protocol"]]
        self.sender = client(accounts[0], _ignore, load.errors.append)
        self.recipient = client(accounts[1], self.on_delivery, load.errors.append)
        self.sent_at: dict[Hashable, float] = {}
        self.marked_at = 0.0
        self.marks = 0

    def send_message(self) -> None:
        body = random_body(with_digits=self.load.spec["digits"])
        started_at = time.perf_counter()
        self.sent_at[self.sender.send_message(body)] = started_at

    def on_delivery(self, key: Hashable) -> None:
        now = time.perf_counter()
        started_at = self.sent_at.pop(key, None)
        if started_at is None:
            self.load.unexpected += 1
            return
        self.load.latencies.append(now - started_at)
        self.load.last_delivery_at = now
        if now < self.load.ends_at:
            self.send_message()
        if self.load.spec["receipts"] and now - self.marked_at > MARK_INTERVAL_SECONDS:
            self.marked_at = now
            self.marks += 1
            self.recipient.mark_read()


class Load:
    def __init__(self, spec: dict[str, Any]) -> None:
        self.spec = spec
        self.latencies: list[float] = []
        self.errors: list[str] = []
        self.unexpected = 0
        self.started_at = self.ends_at = self.last_delivery_at = 0.0
        self.conversations = [Conversation(self, accounts) for accounts in spec["conversations"]]

    @property
    def clients(self) -> list[Client]:
        return [
            client
            for conversation in self.conversations
            for client in (conversation.sender, conversation.recipient)
        ]

    async def connect(self) -> None:
        """Connects all clients, whose cost is not part of the measurement."""
        for client in self.clients:
            await client.connect()
        # Time for the presence events of the new connections.
        await asyncio.sleep(1.0)

    async def run(self) -> dict[str, Any]:
        cpu_before = time.process_time()
        pings = [asyncio.create_task(_ping(client)) for client in self.clients]
        self.started_at = time.perf_counter()
        self.ends_at = self.started_at + self.spec["seconds"]
        for conversation in self.conversations:
            for _ in range(self.spec["in_flight"]):
                conversation.send_message()
        await asyncio.sleep(self.spec["seconds"])
        await async_poll_until(lambda: not self._missing(), TIMEOUT_SECONDS, interval=0.01)
        for ping in pings:
            ping.cancel()
        return self._result() | {"driver_cpu": time.process_time() - cpu_before}

    def _result(self) -> dict[str, Any]:
        return {
            # Until all messages have arrived: some servers deliver many at once, after seconds.
            "seconds": self.last_delivery_at - self.started_at,
            "messages": len(self.latencies),
            "marks": sum(conversation.marks for conversation in self.conversations),
            "missing": self._missing(),
            # A second delivery of a message, or the delivery of one that was not sent.
            "out_of_order": self.unexpected,
            "errors": self.errors[:3],
            "latencies": sorted(self.latencies),
        }

    def _missing(self) -> int:
        return sum(len(conversation.sent_at) for conversation in self.conversations)


def _ignore(key: Hashable) -> None:
    """Senders do not count their own messages."""


async def _ping(client: Client) -> None:
    # Clients connect at different times, so their pings are spread.
    await asyncio.sleep(random.uniform(0, PING_INTERVAL_SECONDS))
    while True:
        client.ping()
        await asyncio.sleep(PING_INTERVAL_SECONDS)


async def main() -> None:
    load = Load(json.loads(sys.stdin.readline()))
    await load.connect()
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    print(json.dumps(await load.run()), flush=True)
    for client in load.clients:
        client.close()


if __name__ == "__main__":
    asyncio.run(main())
