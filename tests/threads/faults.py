"""Faults of the store: errors that its client raises before or after the engine did its work."""

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    EndpointConnectionError,
    ReadTimeoutError,
)

from threads.dynamodb.async_client import AsyncClient
from threads.dynamodb.circuit_breaker import CircuitBreaker
from threads.dynamodb.client import SyncClient
from threads.dynamodb.table import connection

WRITE = "TransactWriteItems"
UPDATE = "UpdateItem"
ENDPOINT = "http://127.0.0.1"

Error = Callable[[str, dict], Exception]


class Faults:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self._plans: list[tuple[str, Error | None, float, bool]] = []
        self._watchers: list[tuple[str, Callable[[], None]]] = []
        real, real_async = SyncClient._make_api_call, AsyncClient.call

        def call(client: SyncClient, operation: str, arguments: dict) -> Any:
            error, after = self._next(operation)
            answer = real(client, operation, arguments) if after or not error else None
            if error:
                raise error(operation, arguments)
            return answer

        async def call_async(client: AsyncClient, operation: str, arguments: dict) -> Any:
            error, after = self._next(operation)
            answer = await real_async(client, operation, arguments) if after or not error else None
            if error:
                raise error(operation, arguments)
            return answer

        monkeypatch.setattr(SyncClient, "_make_api_call", call)
        monkeypatch.setattr(AsyncClient, "call", call_async)

    def _next(self, operation: str) -> tuple[Error | None, bool]:
        """Error for this request, if any, and whether the engine runs the request first."""
        for watched, watcher in list(self._watchers):
            if watched == operation:
                self._watchers.remove((watched, watcher))
                watcher()
        for place, (wanted, error, times, after) in enumerate(self._plans):
            if wanted in (operation, "*") and times:
                self._plans[place] = (wanted, error, times - 1, after)
                self.count += error is not None
                return error, after
        return None, False

    def before(self, operation: str, error: Error, times: float = 1) -> None:
        """The engine does not receive the request."""
        self._plans.append((operation, error, times, False))

    def after(self, operation: str, error: Error, times: float = 1) -> None:
        """The engine runs the request; its answer is lost."""
        self._plans.append((operation, error, times, True))

    def allow(self, operation: str, times: int) -> None:
        """Lets `times` requests through before the next fault."""
        self._plans.append((operation, None, times, False))

    def run_before(self, operation: str, action: Callable[[], object]) -> None:
        """Runs `action` once before the next such request, to simulate a concurrent change."""
        self._watchers.append((operation, action))

    def clear(self) -> None:
        self._plans.clear()
        close_breaker()


def close_breaker() -> None:
    store: Any = connection().connection
    store.breaker = CircuitBreaker()


def client_error(code: str, status: int = 400) -> Error:
    def error(operation: str, arguments: dict) -> ClientError:
        answer = {"Error": {"Code": code, "Message": code}}
        answer["ResponseMetadata"] = {"HTTPStatusCode": status, "HTTPHeaders": {}}
        return ClientError(answer, operation)

    return error


def transaction_cancelled(code: str) -> Error:
    """Cancels the whole transaction because of its first item; the others have no reason."""

    def error(operation: str, arguments: dict) -> ClientError:
        reasons = [{"Code": "None"} for _ in arguments["TransactItems"]]
        reasons[0] = {"Code": code, "Message": code}
        answer = {
            "Error": {"Code": "TransactionCanceledException", "Message": code},
            "CancellationReasons": reasons,
            "ResponseMetadata": {"HTTPStatusCode": 400, "HTTPHeaders": {}},
        }
        return ClientError(answer, operation)

    return error


def connection_closed(operation: str, arguments: dict) -> Exception:
    return ConnectionClosedError(endpoint_url=ENDPOINT)


def read_timeout(operation: str, arguments: dict) -> Exception:
    return ReadTimeoutError(endpoint_url=ENDPOINT)


def unreachable(operation: str, arguments: dict) -> Exception:
    return EndpointConnectionError(endpoint_url=ENDPOINT)


ALWAYS = float("inf")
