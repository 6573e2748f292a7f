"""The one door to DynamoDB: every request of every model goes through `Store._make_api_call`, or,
from the event loop, through `Store.ask`.

Both retry what is transient until the deadline (retry.py), unless the circuit breaker is open
(circuit_breaker.py). What the store answers stays what it is; when it does not answer, that is
`StoreUnavailable`, which every edge shows as TRY_AGAIN.
"""

import asyncio
import contextlib
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
    """The operations made while counting, by name, and what they cost."""

    capacity: float = 0.0
    # Of the archive, opened.
    objects: int = 0


_counting: ContextVar[RequestCounter | None] = ContextVar("counting", default=None)


@contextlib.contextmanager
def count_requests() -> Iterator[RequestCounter]:
    """Counts this context's requests: the budgets of docs/data-model.md are tests."""
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
        self._client_of_ours = client
        self._client_on_loop = AsyncClient(client)
        self.breaker = CircuitBreaker()

    @property
    def client(self) -> Any:
        return self._client_of_ours

    def _make_api_call(
        self, operation_name: str, operation_kwargs: dict[str, Any]
    ) -> dict[str, Any]:
        call = _Call(self.breaker, operation_name, operation_kwargs)
        written = recent_writes.list_written_rows(operation_name, operation_kwargs)
        while True:
            call.begin_attempt()
            recent_writes.record(written)
            try:
                answer = super()._make_api_call(operation_name, call.arguments)
            except (ClientError, BotoCoreError) as error:
                delay = call.delay_after(error)
            else:
                call.succeed(answer)
                return answer
            time.sleep(delay)

    async def ask(self, operation: str, arguments: dict[str, Any]) -> Response:
        """The same for whoever must not wait here. A refusal is botocore's own `ClientError`."""
        call = _Call(self.breaker, operation, arguments)
        written = recent_writes.list_written_rows(operation, arguments)
        while True:
            call.begin_attempt()
            await recent_writes.record_async(written)
            try:
                answer = await self._client_on_loop.ask(operation, call.arguments)
            except (ClientError, BotoCoreError) as error:
                delay = call.delay_after(error)
            else:
                call.succeed(answer)
                return answer
            await asyncio.sleep(delay)


class _Call:
    """One request over as many attempts as it takes. It does no I/O: both transports share it."""

    __slots__ = ("_backoff", "_breaker", "_operation", "_started_at", "arguments")

    def __init__(self, breaker: CircuitBreaker, operation: str, arguments: dict[str, Any]) -> None:
        if operation == "TransactWriteItems":
            # By its token the store recognises a repeat of a transaction that it has done.
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

    def succeed(self, answer: Response) -> None:
        self._breaker.record_success()
        _count_units(self._operation, answer)

    def delay_after(self, error: Exception) -> float:
        """Seconds to wait before the next attempt; raises if there is to be none."""
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
    """PynamoDB keeps only a part of it; the rest is in the error that it made its own from."""
    return getattr(error.__cause__, "response", None) or error.response


def _count_units(operation: str, answer: Response) -> None:
    units = _units(answer)
    metrics.DYNAMODB_CAPACITY_UNITS.labels(operation).inc(units)
    requests = _counting.get()
    if requests is not None:
        requests.capacity += units


def _units(answer: Response) -> float:
    consumed = answer.get("ConsumedCapacity") or []
    each = consumed if isinstance(consumed, list) else [consumed]
    return sum(float(part.get("CapacityUnits", 0)) for part in each)
