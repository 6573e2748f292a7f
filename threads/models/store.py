"""The one door to DynamoDB: every request of every model goes through `Store._make_api_call`, or,
from the event loop, through `Store.ask`.

What the store answers stays what it is; when it does not answer, that is `StoreUnavailable`, which
every edge shows as TRY_AGAIN.
"""

import contextlib
import random
import time
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import structlog
from botocore.exceptions import BotoCoreError, ClientError
from pynamodb.connection import Connection

from accounts.refusals import Refusal
from realtime import figures
from threads.models.answers import Answer
from threads.models.transport import Client
from threads.models.transport_on_loop import ClientOnLoop

log = structlog.get_logger(__name__)

# Answers that mean "not now": nothing was judged, and the same request may succeed later.
PASSING = {
    "InternalServerError",
    "LimitExceededException",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "ServiceUnavailable",
    "ThrottlingException",
    "TransactionInProgressException",
}

# How long one goes on trying, in seconds, when the store is busy or away.
PATIENCE = 2.0


class StoreUnavailable(Refusal):
    """The store did not answer, or not now. A write may or may not have happened."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__("TRY_AGAIN")


def pause(deadline: float) -> None:
    """Before the next attempt, for a while that differs each time; past the deadline, no more."""
    if time.monotonic() > deadline:
        raise StoreUnavailable("busy")
    time.sleep(random.uniform(0.005, 0.1))


class Requests(list[str]):
    """The operations made while counting, by name, and what they cost."""

    capacity: float = 0.0
    # Of the archive, opened.
    objects: int = 0


_counting: ContextVar[Requests | None] = ContextVar("counting", default=None)


@contextlib.contextmanager
def counting() -> Iterator[Requests]:
    """Counts this context's requests: the budgets of docs/data-model.md are tests."""
    requests = Requests()
    token = _counting.set(requests)
    try:
        yield requests
    finally:
        _counting.reset(token)


def count_object() -> None:
    requests = _counting.get()
    if requests is not None:
        requests.objects += 1


class Store(Connection):
    def __init__(self, client: Client, *, region: str, endpoint: str | None) -> None:
        super().__init__(region=region, host=endpoint)
        self._client_of_ours = client
        self._client_on_loop = ClientOnLoop(client)

    @property
    def client(self) -> Any:
        return self._client_of_ours

    def _make_api_call(
        self, operation_name: str, operation_kwargs: dict[str, Any]
    ) -> dict[str, Any]:
        with _watched(operation_name):
            answer = super()._make_api_call(operation_name, operation_kwargs)
        _count_units(operation_name, answer)
        return answer

    async def ask(self, operation: str, arguments: dict[str, Any]) -> Answer:
        """The same for whoever must not wait here. A refusal is botocore's own `ClientError`."""
        with _watched(operation):
            answer = await self._client_on_loop.ask(operation, arguments)
        _count_units(operation, answer)
        return answer


@contextlib.contextmanager
def _watched(operation: str) -> Iterator[None]:
    """Counts the request, and says so if it was not answered."""
    figures.REQUESTS.labels(operation).inc()
    requests = _counting.get()
    if requests is not None:
        requests.append(operation)
    try:
        yield
    except ClientError as error:
        _raise_if_passing(operation, error)
        raise
    except BotoCoreError as error:
        log.warning("store_unavailable", operation=operation, error=type(error).__name__)
        raise StoreUnavailable(type(error).__name__) from error


def said_by_store(error: ClientError) -> Any:
    """PynamoDB keeps only a part of it; the rest is in the error that it made its own from."""
    return getattr(error.__cause__, "response", None) or error.response


def _raise_if_passing(operation: str, error: ClientError) -> None:
    code = error.response["Error"].get("Code", "")
    status = said_by_store(error).get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if code in PASSING or status >= 500:
        log.warning("store_unavailable", operation=operation, error=code)
        raise StoreUnavailable(code) from error


def _count_units(operation: str, answer: Answer) -> None:
    units = _units(answer)
    figures.UNITS.labels(operation).inc(units)
    requests = _counting.get()
    if requests is not None:
        requests.capacity += units


def _units(answer: Answer) -> float:
    consumed = answer.get("ConsumedCapacity") or []
    each = consumed if isinstance(consumed, list) else [consumed]
    return sum(float(part.get("CapacityUnits", 0)) for part in each)
