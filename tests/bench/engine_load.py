"""Load on the bare engine: the transaction of a send as in the service, from a minimal client.
The result is the limit of the machine and the engine; the difference is the cost of the service."""

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


class ThreadState:
    """The state of a thread, from which the template of its next transaction is filled."""

    def __init__(self, fields: dict) -> None:
        self.template: str = fields["template"]
        self.names: dict[str, str] = fields["names"]
        self.seq, self.tally = fields["seq"], fields["tally"]
        self.message: str = fields["message"]
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
    threads = [ThreadState(fields) for fields in spec["threads"]]
    connections = [await open_http(spec["port"]) for _ in threads]
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    latencies: list[float] = []
    ends_at = time.perf_counter() + spec["seconds"]

    async def write(thread: ThreadState, connection) -> None:
        while time.perf_counter() < ends_at:
            body, message = thread.next()
            head = HEAD.format(port=spec["port"], operation="TransactWriteItems", size=len(body))
            started_at = time.perf_counter()
            status, response = await connection.send(head.encode() + body)
            if status != 200:
                raise SystemExit(f"The engine refused: {response[:500]!r}")
            latencies.append(time.perf_counter() - started_at)
            thread.done(message)

    await asyncio.gather(*(write(*pair) for pair in zip(threads, connections, strict=True)))
    states = [{"seq": t.seq, "tally": t.tally, "message": t.message} for t in threads]
    result = {
        "seconds": spec["seconds"],
        "messages": len(latencies),
        "latencies": sorted(latencies),
        "standing": states,
    }
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
