"""Retries: which failures are transient, how long to wait between attempts, and until when.

All retries of one page request or socket command share one deadline (`time_budget`). The wait
before each retry is random below a limit that doubles every time (full jitter), so that clients
that failed together do not come back together.
"""

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    ReadTimeoutError,
)
from django.conf import settings

from core import metrics
from threads.dynamodb.errors import BREAKER_OPEN, StoreUnavailable

BASE_DELAY_SECONDS = 0.025
MAX_DELAY_SECONDS = 0.5
# Another writer is done with an item in milliseconds.
MAX_CONFLICT_DELAY_SECONDS = 0.1

# The request was not executed, because there were too many or the service was not ready for it.
THROTTLING_CODES = frozenset(
    {
        "BandwidthLimitExceeded",
        "EC2ThrottledException",
        "LimitExceededException",
        "PriorRequestNotComplete",
        "ProvisionedThroughputExceeded",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "ThrottledException",
        "Throttling",
        "ThrottlingError",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
# The request may have been executed, and its answer was lost.
UNCERTAIN_CODES = frozenset(
    {
        "InternalFailure",
        "InternalServerError",
        "RequestTimeout",
        "RequestTimeoutException",
        "ServiceUnavailable",
        "ServiceUnavailableException",
    }
)
# Another transaction holds the item. The store itself is well.
CONFLICT_CODES = frozenset(
    {
        "ReplicatedWriteConflictException",
        "TransactionConflictException",
        "TransactionInProgressException",
    }
)
# A condition failed because another writer was first, and the caller reads the item again.
CONFLICT = "conflict"
# Reasons for which a transaction is cancelled and may succeed when it is repeated unchanged.
TRANSIENT_REASONS = frozenset(
    {"ProvisionedThroughputExceeded", "ThrottlingError", "TransactionConflict"}
)

NOT_SENT_ERRORS = (ConnectTimeoutError, EndpointConnectionError)
UNCERTAIN_ERRORS = (ConnectionClosedError, ReadTimeoutError)

_deadline: ContextVar[float | None] = ContextVar("retry_deadline", default=None)


@contextmanager
def time_budget(seconds: float | None = None) -> Iterator[None]:
    """Retries inside share one deadline. An enclosing budget is kept as it is."""
    if _deadline.get() is not None:
        yield
        return
    token = _deadline.set(time.monotonic() + _seconds(seconds))
    try:
        yield
    finally:
        _deadline.reset(token)


def _seconds(seconds: float | None) -> float:
    return settings.DYNAMODB["retry_seconds"] if seconds is None else seconds


class Backoff:
    """The waits between attempts at one thing, up to the deadline."""

    __slots__ = ("_deadline", "_retries")

    def __init__(self, started_at: float | None = None) -> None:
        started_at = time.monotonic() if started_at is None else started_at
        self._deadline = _deadline.get() or started_at + _seconds(None)
        self._retries = 0

    def next_delay(self, reason: str) -> float:
        """Seconds until the next attempt; raises `StoreUnavailable` after the deadline."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise StoreUnavailable(reason)
        limit = min(_max_delay(reason), BASE_DELAY_SECONDS * 2 ** min(self._retries, 10))
        self._retries += 1
        metrics.DYNAMODB_RETRIES.labels(reason).inc()
        return min(left, random.uniform(0, limit))

    def wait(self, reason: str = CONFLICT) -> None:
        time.sleep(self.next_delay(reason))

    def wait_after(self, error: StoreUnavailable) -> None:
        """An open circuit breaker is not waited for."""
        if error.why == BREAKER_OPEN:
            raise error
        self.wait(error.why)


def _max_delay(reason: str) -> float:
    is_conflict = reason in (CONFLICT, "TransactionConflict") or reason in CONFLICT_CODES
    return MAX_CONFLICT_DELAY_SECONDS if is_conflict else MAX_DELAY_SECONDS


def code_of(error: Exception) -> str:
    """The code of an answer, or the name of what happened instead of one."""
    if not isinstance(error, ClientError):
        return type(error).__name__
    code = str(error.response["Error"].get("Code", ""))
    known = code in THROTTLING_CODES or code in UNCERTAIN_CODES or code in CONFLICT_CODES
    return code if known or _status(error) < 500 else "InternalServerError"


def is_transient(error: Exception) -> bool:
    """Whether the same request may succeed later; otherwise the answer is final."""
    if not isinstance(error, ClientError):
        return isinstance(error, NOT_SENT_ERRORS + UNCERTAIN_ERRORS)
    code = code_of(error)
    return code in THROTTLING_CODES or code in CONFLICT_CODES or _is_uncertain(error)


def is_store_failure(error: Exception) -> bool:
    """Whether the store is ill, as opposed to an answer about this one request."""
    if not isinstance(error, ClientError):
        return True
    return code_of(error) in THROTTLING_CODES or _is_uncertain(error)


def can_repeat(error: Exception, arguments: dict[str, Any]) -> bool:
    """Whether a repeat cannot do anything twice: it was not executed, or is idempotent."""
    return not _is_uncertain(error) or _is_idempotent(arguments)


def _is_uncertain(error: Exception) -> bool:
    if not isinstance(error, ClientError):
        return isinstance(error, UNCERTAIN_ERRORS)
    return code_of(error) in UNCERTAIN_CODES


def _is_idempotent(arguments: dict[str, Any]) -> bool:
    """Transactions carry a token; other writes set values or have a condition, unless they add."""
    return "ADD " not in arguments.get("UpdateExpression", "")


def _status(error: ClientError) -> int:
    """PynamoDB's own error keeps a part of the answer only; its cause has all of it."""
    response: Any = getattr(error.__cause__, "response", None) or error.response
    return int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
