"""A proxy between the services and the engine, which injects the faults of DynamoDB and of a
network."""

import asyncio
import contextlib
import json
import random
import re
import time
from collections import Counter, defaultdict, deque
from dataclasses import dataclass

WRITES = ("TransactWriteItems", "UpdateItem", "PutItem", "DeleteItem", "BatchWriteItem")
THROTTLED = (
    "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",
    "com.amazon.coral.availability#ThrottlingException",
)
DYNAMODB = "com.amazonaws.dynamodb.v20120810#"
# The maximum lag of an index; older responses are discarded.
MAX_STALE_SECONDS = 10.0
MAX_DELAY_SECONDS = 4.5

FAULTS = ("throttled", "conflict", "broken", "slow", "stale", "cut")
# A complete outage; the soak test kills the engine instead.
AWAY = "away"


@dataclass
class Request:
    head: bytes
    body: bytes

    @property
    def operation(self) -> str:
        found = re.search(rb"(?i)^x-amz-target: *DynamoDB_\d+\.(\w+)", self.head, re.MULTILINE)
        return found[1].decode() if found else ""

    @property
    def reads_index(self) -> bool:
        return self.operation == "Query" and b'"IndexName"' in self.body


class Proxy:
    def __init__(self, engine_port: int, seed: int) -> None:
        self.engine_port, self.port = engine_port, 0
        self.happened: Counter[str] = Counter()
        # All received requests by operation.
        self.requests: Counter[str] = Counter()
        self._rng = random.Random(seed)
        # Fault -> its probability for an affected request, and its end.
        self._active_faults: dict[str, tuple[float, float]] = {}
        self._answers: dict[bytes, deque[tuple[float, bytes]]] = defaultdict(deque)
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()

    def begin(self, fault: str, chance: float, seconds: float) -> None:
        self._active_faults[fault] = (chance, time.monotonic() + seconds)

    def clear(self) -> None:
        self._active_faults.clear()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        engine: _Engine | None = None
        try:
            while request := await _read(reader):
                engine = engine or await _Engine.connect(self.engine_port)
                answer = await self._answer(request, engine)
                if answer is None:
                    break
                writer.write(answer)
                await writer.drain()
        except (OSError, EOFError, asyncio.IncompleteReadError):
            # The engine or the service disconnected, so the other side is disconnected as well.
            pass
        finally:
            for end in filter(None, (writer, engine and engine.writer)):
                end.close()
                with contextlib.suppress(OSError):
                    await end.wait_closed()

    async def _answer(self, request: Request, engine: "_Engine") -> bytes | None:
        """Returns the response, or None if the connection must be dropped."""
        self.requests[request.operation] += 1
        fault = self._choose(request)
        if fault == AWAY:
            return None
        if fault in ("throttled", "conflict", "broken"):
            return self._refusal(fault, request)
        if fault == "stale":
            return self._oldest(request)
        wait = self._rng.uniform(0.2, MAX_DELAY_SECONDS) if fault == "slow" else 0.0
        before = wait if self._rng.random() < 0.5 else 0.0
        await asyncio.sleep(before)
        answer = await engine.ask(request)
        await asyncio.sleep(wait - before)
        if request.reads_index:
            self._record(request, answer)
        return None if fault == "cut" else answer

    def _choose(self, request: Request) -> str:
        now = time.monotonic()
        for fault, (chance, until) in list(self._active_faults.items()):
            if now > until or not self._is_affected(fault, request):
                continue
            if self._rng.random() < chance:
                self.happened[fault] += 1
                return fault
        return ""

    def _is_affected(self, fault: str, request: Request) -> bool:
        if fault == "conflict":
            return request.operation in ("TransactWriteItems", "UpdateItem")
        if fault == "cut":
            return request.operation in WRITES
        if fault == "stale":
            return request.reads_index and bool(self._remembered(request))
        return True

    def _refusal(self, fault: str, request: Request) -> bytes:
        if fault == "throttled":
            return _response(400, {"__type": self._rng.choice(THROTTLED), "message": "Slow down"})
        if fault == "broken":
            return _response(500, {"__type": f"{DYNAMODB}InternalServerError", "message": "Oh"})
        if request.operation == "UpdateItem":
            kind = f"{DYNAMODB}TransactionConflictException"
            return _response(400, {"__type": kind, "message": "Busy"})
        return _response(400, _cancelled(request, self._rng))

    def _record(self, request: Request, answer: bytes) -> None:
        if answer.startswith(b"HTTP/1.1 200"):
            self._answers[request.body].append((time.monotonic(), answer))

    def _remembered(self, request: Request) -> "deque[tuple[float, bytes]]":
        answers = self._answers[request.body]
        while answers and answers[0][0] < time.monotonic() - MAX_STALE_SECONDS:
            answers.popleft()
        return answers

    def _oldest(self, request: Request) -> bytes:
        return self._remembered(request)[0][1]


@dataclass
class _Engine:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @classmethod
    async def connect(cls, port: int) -> "_Engine":
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def ask(self, request: Request) -> bytes:
        self.writer.write(request.head + request.body)
        await self.writer.drain()
        answer = await _read(self.reader)
        if answer is None:
            raise EOFError
        return answer.head + answer.body


async def _read(reader: asyncio.StreamReader) -> Request | None:
    """Reads a whole request or response; None if the connection ends before one."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise
        return None
    found = re.search(rb"(?i)^content-length: *(\d+)", head, re.MULTILINE)
    return Request(head, await reader.readexactly(int(found[1]) if found else 0))


def _cancelled(request: Request, rng: random.Random) -> dict:
    """A cancelled transaction with a conflict on at least one item."""
    count = len(json.loads(request.body)["TransactItems"])
    busy = {rng.randrange(count) for _ in range(rng.randint(1, 2))}
    conflict = {"Code": "TransactionConflict", "Message": "Transaction is ongoing for the item"}
    return {
        "__type": f"{DYNAMODB}TransactionCanceledException",
        "message": "Transaction cancelled, please refer cancellation reasons for specific reasons",
        "CancellationReasons": [
            conflict if number in busy else {"Code": "None"} for number in range(count)
        ],
    }


def _response(status: int, content: dict) -> bytes:
    body = json.dumps(content).encode()
    reason = {400: "Bad Request", 500: "Internal Server Error"}[status]
    head = (
        f"HTTP/1.1 {status} {reason}\r\ncontent-type: application/x-amz-json-1.0\r\n"
        f"x-amzn-requestid: soak\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body
