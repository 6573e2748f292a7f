"""The bare engine: the transaction of a send, as the service makes it, from a client that does
nothing else. What it reaches is the machine's and the engine's; the rest is ours."""

import asyncio
import json
import os
import sys
import time
from datetime import UTC, datetime
from uuid import uuid4

from ulid import ULID

from tests.bench.minimal_clients import open_http

HEAD = (
    "POST / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nX-Amz-Target: DynamoDB_20120810.{operation}\r\n"
    "Content-Type: application/x-amz-json-1.0\r\nX-Amz-Date: 20260101T000000Z\r\n"
    "Authorization: AWS4-HMAC-SHA256 Credential=embedded/20260101/eu-central-1/dynamodb/"
    "aws4_request, SignedHeaders=host;x-amz-date, Signature=0\r\nContent-Length: {size}\r\n\r\n"
)


class Thread:
    """Where a thread stands, and what its next transaction is: the template with its values."""

    def __init__(self, made: dict) -> None:
        self.template: str = made["template"]
        self.names: dict[str, str] = made["names"]
        self.seq, self.tally = made["seq"], made["tally"]
        self.message: str = made["message"]
        self.at = 0

    def next(self) -> tuple[bytes, str]:
        now = datetime.now(UTC)
        self.at = max(self.at + 1, int(now.timestamp() * 1000))
        new = f"msg_{ULID.from_bytes(self.at.to_bytes(6, 'big') + os.urandom(10))}"
        when = datetime.fromtimestamp(self.at / 1000, UTC)
        values = {
            "old_seq": str(self.seq),
            "new_seq": str(self.seq + 1),
            "old_tally": str(self.tally),
            "new_tally": str(self.tally + 1),
            "old_message": self.message,
            "new_message": new,
            "now": when.strftime("%Y-%m-%dT%H:%M:%S.") + f"{self.at % 1000:03d}Z",
            "client_id": str(uuid4()),
        }
        text = self.template
        for name, value in values.items():
            text = text.replace(self.names[name], value)
        return text.encode(), new

    def done(self, message: str) -> None:
        self.seq, self.tally, self.message = self.seq + 1, self.tally + 1, message


async def main() -> None:
    spec = json.loads(sys.stdin.readline())
    threads = [Thread(made) for made in spec["threads"]]
    lines = [await open_http(spec["port"]) for _ in threads]
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    latencies: list[float] = []
    ends_at = time.perf_counter() + spec["seconds"]

    async def write(thread: Thread, line) -> None:
        while time.perf_counter() < ends_at:
            body, message = thread.next()
            head = HEAD.format(port=spec["port"], operation="TransactWriteItems", size=len(body))
            begun = time.perf_counter()
            status, answer = await line.send(head.encode() + body)
            if status != 200:
                raise SystemExit(f"The engine refused: {answer[:500]!r}")
            latencies.append(time.perf_counter() - begun)
            thread.done(message)

    await asyncio.gather(*(write(*both) for both in zip(threads, lines, strict=True)))
    standing = [{"seq": t.seq, "tally": t.tally, "message": t.message} for t in threads]
    result = {
        "seconds": spec["seconds"],
        "messages": len(latencies),
        "latencies": sorted(latencies),
        "standing": standing,
    }
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
