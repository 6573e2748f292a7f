"""All access to DynamoDB: `Store._make_api_call`, or `Store.call_async` on the event loop.

Both retry transient failures until the deadline (retry.py), unless the circuit breaker is open
(circuit_breaker.py). Other errors are raised unchanged; no response raises `StoreUnavailable`,
which pages and sockets report as TRY_AGAIN.
"""

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any
from uuid import uuid4

import structlog
from botocore.exceptions import BotoCoreError, ClientError
from pynamodb.connection import Connection

from core import metrics
from threads.dynamodb import recent_writes
from threads.dynamodb.async_client import AsyncClient
from threads.dynamodb.circuit_breaker import CircuitBreaker
from threads.dynamodb.client import SyncClient
from threads.dynamodb.errors import BREAKER_OPEN
from threads.dynamodb.errors import StoreUnavailable as StoreUnavailable
from threads.dynamodb.responses import Response
from threads.dynamodb.retry import Backoff, can_repeat, code_of, is_store_failure, is_transient

log = structlog.get_logger(__name__)


class RequestCounter(list[str]):
    """The names of the operations that were made, and their cost."""

    capacity: float = 0.0
    # Objects of the archive that were opened.
    objects: int = 0


_counting: ContextVar[RequestCounter | None] = ContextVar("counting", default=None)


@contextlib.contextmanager
def count_requests() -> Iterator[RequestCounter]:
    """Counts the requests of this context; tests check the budgets of docs/data-model.md."""
    requests = RequestCounter()
    token = _counting.set(requests)
    try:
        yield requests
    finally:
        _counting.reset(token)


def count_archive_read() -> None:
    requests = _counting.get()
    if requests is not None:
        requests.objects += 1


class Store(Connection):
    def __init__(self, client: SyncClient, *, region: str, endpoint: str | None) -> None:
        super().__init__(region=region, host=endpoint)
        self._sync_client = client
        self._async_client = AsyncClient(client)
        self.breaker = CircuitBreaker()

    @property
    def client(self) -> Any:
        return self._sync_client

    def _make_api_call(
        self, operation_name: str, operation_kwargs: dict[str, Any]
    ) -> dict[str, Any]:
        call = _Call(self.breaker, operation_name, operation_kwargs)
        written = recent_writes.list_written_rows(operation_name, operation_kwargs)
        while True:
            call.begin_attempt()
            recent_writes.record(written)
            try:
                response = super()._make_api_call(operation_name, call.arguments)
            except (ClientError, BotoCoreError) as error:
                delay = call.delay_after(error)
            else:
                call.succeed(response)
                return response
            time.sleep(delay)

    async def call_async(self, operation: str, arguments: dict[str, Any]) -> Response:
        """The same for the event loop. Errors of the store are botocore's `ClientError`."""
        call = _Call(self.breaker, operation, arguments)
        written = recent_writes.list_written_rows(operation, arguments)
        while True:
            call.begin_attempt()
            await recent_writes.record_async(written)
            try:
                response = await self._async_client.call(operation, call.arguments)
            except (ClientError, BotoCoreError) as error:
                delay = call.delay_after(error)
            else:
                call.succeed(response)
                return response
            await asyncio.sleep(delay)


class _Call:
    """One request with its attempts. It does no I/O, so that both clients share it."""

    __slots__ = ("_backoff", "_breaker", "_operation", "_started_at", "arguments")

    def __init__(self, breaker: CircuitBreaker, operation: str, arguments: dict[str, Any]) -> None:
        if operation == "TransactWriteItems":
            # The store recognises a repeated transaction by its token.
            arguments = {"ClientRequestToken": str(uuid4()), **arguments}
        self._breaker, self._operation, self.arguments = breaker, operation, arguments
        self._started_at = time.monotonic()
        self._backoff: Backoff | None = None

    def begin_attempt(self) -> None:
        if not self._breaker.allows_attempt():
            raise StoreUnavailable(BREAKER_OPEN)
        metrics.DYNAMODB_REQUESTS.labels(self._operation).inc()
        requests = _counting.get()
        if requests is not None:
            requests.append(self._operation)

    def succeed(self, response: Response) -> None:
        self._breaker.record_success()
        _count_units(self._operation, response)

    def delay_after(self, error: Exception) -> float:
        """Seconds to wait before the next attempt; raises if there is none."""
        self._record(error)
        reason = code_of(error)
        if isinstance(error, ClientError) and not is_transient(error):
            raise error
        try:
            if not is_transient(error) or not can_repeat(error, self.arguments):
                raise StoreUnavailable(reason)
            self._backoff = self._backoff or Backoff(self._started_at)
            return self._backoff.next_delay(reason)
        except StoreUnavailable as unavailable:
            log.warning("store_unavailable", operation=self._operation, error=reason)
            raise unavailable from error

    def _record(self, error: Exception) -> None:
        if is_store_failure(error):
            self._breaker.record_failure(code_of(error))
        else:
            self._breaker.record_success()


def full_error_response(error: ClientError) -> Any:
    """The complete error response; PynamoDB's own error keeps only a part of it."""
    return getattr(error.__cause__, "response", None) or error.response


# Concurrent reads share one counter.
_units_lock = threading.Lock()


def _count_units(operation: str, response: Response) -> None:
    units = _units(response)
    metrics.DYNAMODB_CAPACITY_UNITS.labels(operation).inc(units)
    requests = _counting.get()
    if requests is not None:
        with _units_lock:
            requests.capacity += units


def _units(response: Response) -> float:
    consumed = response.get("ConsumedCapacity") or []
    each = consumed if isinstance(consumed, list) else [consumed]
    return sum(float(part.get("CapacityUnits", 0)) for part in each)
