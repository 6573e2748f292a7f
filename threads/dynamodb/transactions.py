"""Conditional writes of one item, and transactions of several."""

import contextlib
from collections.abc import Generator
from typing import Any

from botocore.exceptions import ClientError
from pynamodb.exceptions import CancellationReason, DeleteError
from pynamodb.expressions.condition import Condition

from threads.dynamodb.change import Change
from threads.dynamodb.expressions import key_request, put_request, update_request
from threads.dynamodb.retry import TRANSIENT_REASONS, Backoff
from threads.dynamodb.store import full_error_response
from threads.dynamodb.table import Item, connection

OPERATION = "TransactWriteItems"
# The response includes the consumed capacity.
COUNT_CAPACITY = {"ReturnConsumedCapacity": "TOTAL"}
EXPECTED_REASONS = TRANSIENT_REASONS | {"ConditionalCheckFailed"}


def update(item: Item, change: Change, condition: Condition | None) -> bool:
    """Updates one item; returns whether the condition held, and then `item` is as stored."""
    table = connection()
    request = update_request(table.table_name, item, change, condition)
    # Returns the updated item, but not the item on which the condition failed.
    request |= {"ReturnValues": "ALL_NEW", "ReturnValuesOnConditionCheckFailure": "NONE"}
    try:
        response = table.connection._make_api_call("UpdateItem", request | COUNT_CAPACITY)
    except ClientError as error:
        if error.response["Error"].get("Code") == "ConditionalCheckFailedException":
            return False
        raise
    item.deserialize(response["Attributes"])
    return True


def delete(item: Item, condition: Condition) -> bool:
    """Deletes one item; returns whether the condition held."""
    try:
        item.delete(condition)
    except DeleteError as error:
        if error.cause_response_code == "ConditionalCheckFailedException":
            return False
        raise
    return True


class TransactionCancelled(Exception):
    """A condition failed, or another transaction held an item; nothing was written."""

    def __init__(self, reasons: dict[str, CancellationReason]) -> None:
        self.reasons = reasons
        super().__init__(", ".join(f"{name}: {reason.code}" for name, reason in reasons.items()))

    @property
    def code(self) -> str:
        """The code of the first reason."""
        return next(iter(self.reasons.values())).code

    @property
    def is_conflict(self) -> bool:
        """Another transaction held one of the items: a repeat may succeed in a moment."""
        return any(reason.code in TRANSIENT_REASONS for reason in self.reasons.values())

    @property
    def is_transient(self) -> bool:
        """No condition failed: the same transaction may succeed later."""
        codes = {reason.code for reason in self.reasons.values()}
        return bool(codes) and codes <= TRANSIENT_REASONS

    def failed(self, name: str) -> bool:
        reason = self.reasons.get(name)
        return reason is not None and reason.code == "ConditionalCheckFailed"

    def current(self, name: str, kind: type[Item]) -> Any:
        """The stored item whose condition failed; None if it does not exist."""
        raw = self.reasons[name].raw_item
        return kind.from_raw_data(raw) if raw else None


class Transaction:
    """Writes that are committed together; their names identify the reasons of a failure."""

    def __init__(self) -> None:
        self._table = connection().table_name
        self.names: list[str] = []
        # The requests, in the order of `names`.
        self.items: list[dict[str, Any]] = []

    def check(self, name: str, item: Item, condition: Condition) -> None:
        self._add(name, "ConditionCheck", key_request(self._table, item, condition))

    def delete(self, name: str, item: Item, condition: Condition | None = None) -> None:
        self._add(name, "Delete", key_request(self._table, item, condition))

    def put(self, name: str, item: Item, condition: Condition | None = None) -> None:
        self._add(name, "Put", put_request(self._table, item, condition))

    def update(
        self, name: str, item: Item, change: Change, condition: Condition | None = None
    ) -> None:
        self._add(name, "Update", update_request(self._table, item, change, condition))

    def _add(self, name: str, kind: str, request: dict[str, Any]) -> None:
        self.names.append(name)
        self.items.append({kind: request})

    def commit(self) -> None:
        """Commits; repeats a transaction that was cancelled for transient reasons only."""
        backoff = Backoff()
        while True:
            try:
                return self.commit_once()
            except TransactionCancelled as cancelled:
                if not cancelled.is_transient:
                    raise
                reason = cancelled.code
            backoff.wait(reason)

    def commit_once(self) -> None:
        try:
            connection().connection._make_api_call(OPERATION, self._request())
        except ClientError as error:
            raise self._cancelled(error) from error

    async def commit_async(self) -> None:
        store: Any = connection().connection
        try:
            await store.call_async(OPERATION, self._request())
        except ClientError as error:
            raise self._cancelled(error) from error

    def _request(self) -> dict[str, Any]:
        return {"TransactItems": self.items, **COUNT_CAPACITY}

    def _cancelled(self, error: ClientError) -> TransactionCancelled:
        """Reraises errors other than failed conditions and conflicts."""
        response = full_error_response(error)
        if response["Error"].get("Code") != "TransactionCanceledException":
            raise error
        named = zip(self.names, response["CancellationReasons"], strict=True)
        reasons = {
            name: CancellationReason(reason["Code"], reason.get("Message"), reason.get("Item"))
            for name, reason in named
            if reason["Code"] != "None"
        }
        # ValidationError, for instance, means that an item is too large: a repeat would fail, too.
        if any(reason.code not in EXPECTED_REASONS for reason in reasons.values()):
            raise error
        return TransactionCancelled(reasons)


# A generator that yields transactions. Its driver commits each of them and throws the error of a
# failed one into the generator, so that the same code runs with and without an event loop.
TransactionSteps = Generator[Transaction, None, None]


def commit_steps(steps: TransactionSteps) -> None:
    """Commits every transaction that the generator yields."""
    error: Exception | None = None
    with contextlib.closing(steps), contextlib.suppress(StopIteration):
        while True:
            write = steps.throw(error) if error else next(steps)
            try:
                write.commit_once()
                error = None
            except Exception as raised:
                error = raised


async def commit_steps_async(steps: TransactionSteps) -> None:
    """The same on the event loop, without blocking it."""
    error: Exception | None = None
    with contextlib.closing(steps), contextlib.suppress(StopIteration):
        while True:
            write = steps.throw(error) if error else next(steps)
            try:
                await write.commit_async()
                error = None
            except Exception as raised:
                error = raised
