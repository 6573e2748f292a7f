"""`python -m tests.bench.clients`: what a DynamoDB client costs, compared with other clients.

The same requests against the embedded engine, one at a time: the transaction of a send, and the
query of a page of messages. Only processor time of this process is counted, not that of the engine
or of other programs. Rounds are interleaved and the median counts. Clients whose packages are
missing are skipped; docs/decisions/dynamodb-client.md describes how to install them.
"""

import argparse
import asyncio
import importlib.util
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import orjson

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "script"))

import engine  # noqa: E402

TABLE, REGION, KEY = "clients", "eu-central-1", "embedded"
PAGE_SIZE = 30
BODY = "A line of ordinary length, as people write them to each other about a booking. " * 2

Arguments = dict[str, Any]
Call = Callable[[str, Arguments], Any]
AsyncCall = Callable[[str, Arguments], Awaitable[Any]]


# --- The requests


def table_definition() -> Arguments:
    keys = {"pk": "HASH", "sk": "RANGE"}
    return {
        "TableName": TABLE,
        "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": [{"AttributeName": name, "KeyType": kind} for name, kind in keys.items()],
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in keys],
    }


def message_item(thread: str) -> Arguments:
    item = {"pk": thread, "sk": f"MSG#{uuid4().hex}", "body": BODY, "clientId": uuid4().hex}
    item |= {"senderId": "usr_01", "type": "text", "at": "2026-01-01T00:00:00.000Z"}
    return {name: {"S": value} for name, value in item.items()} | {"seq": {"N": "1"}}


def transaction(thread: str) -> Arguments:
    """Message, idempotency marker, thread and two participants, as a send writes them."""
    marker = {"pk": {"S": thread}, "sk": {"S": f"SENT#{uuid4().hex}"}, "ttl": {"N": "1"}}
    writes = [_put(message_item(thread)), _put(marker)]
    writes += [_update(thread, sk) for sk in ("META", "USER#1", "USER#2")]
    return {"TransactItems": writes, "ClientRequestToken": uuid4().hex}


def _put(item: Arguments) -> Arguments:
    return {
        "Put": {
            "TableName": TABLE,
            "Item": item,
            "ConditionExpression": "attribute_not_exists(pk)",
        }
    }


def _update(thread: str, sk: str) -> Arguments:
    return {
        "Update": {
            "TableName": TABLE,
            "Key": {"pk": {"S": thread}, "sk": {"S": sk}},
            "UpdateExpression": "SET #a = :a, #b = :b, #c = :c",
            "ConditionExpression": "attribute_not_exists(#d)",
            "ExpressionAttributeNames": {"#a": "at", "#b": "body", "#c": "seq", "#d": "gone"},
            "ExpressionAttributeValues": {":a": {"S": "now"}, ":b": {"S": BODY}, ":c": {"N": "1"}},
        }
    }


def query(thread: str) -> Arguments:
    return {
        "TableName": TABLE,
        "KeyConditionExpression": "pk = :p AND begins_with(sk, :s)",
        "ExpressionAttributeValues": {":p": {"S": thread}, ":s": {"S": "MSG#"}},
        "Limit": PAGE_SIZE,
        "ScanIndexForward": False,
    }


REQUESTS = {"TransactWriteItems": transaction, "Query": query}


# --- The clients


def ours(endpoint: str) -> Call:
    return _our_client(endpoint)._make_api_call


def _our_client(endpoint: str) -> Any:
    from threads.dynamodb.client import SyncClient

    return SyncClient(region=REGION, endpoint=endpoint, connect_timeout=5, read_timeout=5)


def pynamodb(endpoint: str) -> Call:
    from pynamodb.connection import Connection

    return Connection(region=REGION, host=endpoint)._make_api_call


async def ours_async(endpoint: str, stack: AsyncExitStack) -> AsyncCall:
    from threads.dynamodb.async_client import AsyncClient

    return AsyncClient(_our_client(endpoint)).call


async def aiodynamo(endpoint: str, stack: AsyncExitStack) -> AsyncCall:
    """Uses the client below its models, as for the others, so that attributes are not measured."""
    import aiohttp
    from aiodynamo.client import Client
    from aiodynamo.credentials import Key, StaticCredentials
    from aiodynamo.http.aiohttp import AIOHTTP
    from yarl import URL

    session = await stack.enter_async_context(aiohttp.ClientSession())
    client = Client(AIOHTTP(session), StaticCredentials(Key(KEY, KEY)), REGION, URL(endpoint))
    return lambda operation, arguments: client.send_request(action=operation, payload=arguments)


async def aiohttp_botocore(endpoint: str, stack: AsyncExitStack) -> AsyncCall:
    import aiohttp
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    session = await stack.enter_async_context(aiohttp.ClientSession())
    signer = SigV4Auth(Credentials(KEY, KEY), "dynamodb", REGION)
    url = f"{endpoint}/"

    async def call(operation: str, arguments: Arguments) -> Any:
        headers = {"Content-Type": "application/x-amz-json-1.0"}
        headers["X-Amz-Target"] = f"DynamoDB_20120810.{operation}"
        request = AWSRequest("POST", url, headers, orjson.dumps(arguments))
        signer.add_auth(request)
        async with session.post(url, data=request.body, headers=dict(request.headers)) as answer:
            found = orjson.loads(await answer.read())
            if answer.status != 200:
                raise RuntimeError(found)
            return found

    return call


SYNC = {"ours, blocking": ours, "PynamoDB on botocore": pynamodb}
ASYNC = {
    "ours, event loop": ours_async,
    "aiodynamo on aiohttp": aiodynamo,
    "aiohttp with botocore's signer": aiohttp_botocore,
}
NEEDS = {"aiodynamo on aiohttp": "aiodynamo", "aiohttp with botocore's signer": "aiohttp"}


# --- The measurement


class Measurement:
    def __init__(self, endpoint: str, *, rounds: int, requests: int) -> None:
        self.rounds, self.requests = rounds, requests
        self.thread = f"THREAD#{uuid4().hex}"
        self.endpoint = endpoint
        self.micros: dict[tuple[str, str], list[float]] = {}

    async def run(self) -> None:
        async with AsyncExitStack() as stack:
            calls: dict[str, Any] = {name: make(self.endpoint) for name, make in SYNC.items()}
            for name, make in ASYNC.items():
                if name not in NEEDS or importlib.util.find_spec(NEEDS[name]):
                    calls[name] = await make(self.endpoint, stack)
            self._fill(calls["ours, blocking"])
            for number in range(self.rounds + 1):
                for name, call in calls.items():
                    for operation in REQUESTS:
                        micros = await self._measure(call, operation, is_async=name in ASYNC)
                        # The first round opens connections and fills caches.
                        if number:
                            self.micros.setdefault((name, operation), []).append(micros)

    def _fill(self, call: Call) -> None:
        call("CreateTable", table_definition())
        for _ in range(PAGE_SIZE):
            call("TransactWriteItems", transaction(self.thread))

    async def _measure(self, call: Any, operation: str, *, is_async: bool) -> float:
        made = [REQUESTS[operation](self.thread) for _ in range(self.requests)]
        started_at = time.process_time()
        for arguments in made:
            found = call(operation, arguments)
            if is_async:
                found = await found
        used = time.process_time() - started_at
        assert operation != "Query" or len(found["Items"]) == PAGE_SIZE
        return used / self.requests * 1_000_000

    def lines(self) -> Iterator[str]:
        yield f"| client | {' | '.join(REQUESTS)} |"
        yield "| --- " * (1 + len(REQUESTS)) + "|"
        for name in dict.fromkeys(name for name, _ in self.micros):
            shown = [_shown(self.micros[name, operation]) for operation in REQUESTS]
            yield f"| {name} | {' | '.join(shown)} |"


def _shown(micros: list[float]) -> str:
    return f"{statistics.median(micros):.0f} µs ({min(micros):.0f} to {max(micros):.0f})"


@contextmanager
def running_engine() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="parley-clients-") as folder:
        started = engine.start(log=Path(folder) / "engine.log")
        with started.running():
            os.environ.update(engine.environment(dict(os.environ), started.endpoint))
            yield started.endpoint


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.clients", description=__doc__)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--requests", type=int, default=200, help="of each kind, in each round")
    options = parser.parse_args()
    with running_engine() as endpoint:
        measurement = Measurement(endpoint, rounds=options.rounds, requests=options.requests)
        asyncio.run(measurement.run())
    print("\n".join(measurement.lines()))


if __name__ == "__main__":
    main()
