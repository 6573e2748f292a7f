"""Writes: one update by itself, or several in one transaction, all or nothing."""

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

WRITE = "TransactWriteItems"
# What it costs comes with the answer.
COUNTED = {"ReturnConsumedCapacity": "TOTAL"}
EXPECTED_REASONS = TRANSIENT_REASONS | {"ConditionalCheckFailed"}


def update(item: Item, change: Change, condition: Condition | None) -> bool:
    """One write by itself. Whether its condition held; `item` is then as the store has it now."""
    table = connection()
    request = update_request(table.table_name, item, change, condition)
    # What is there now, not what was in the way.
    request |= {"ReturnValues": "ALL_NEW", "ReturnValuesOnConditionCheckFailure": "NONE"}
    try:
        answer = table.connection._make_api_call("UpdateItem", request | COUNTED)
    except ClientError as error:
        if error.response["Error"].get("Code") == "ConditionalCheckFailedException":
            return False
        raise
    item.deserialize(answer["Attributes"])
    return True


def delete(item: Item, condition: Condition) -> bool:
    """Whether its condition held."""
    try:
        item.delete(condition)
    except DeleteError as error:
        if error.cause_response_code == "ConditionalCheckFailedException":
            return False
        raise
    return True


class TransactionCancelled(Exception):
    """A condition did not hold, or the store was busy with the same items; nothing was written."""

    def __init__(self, reasons: dict[str, CancellationReason]) -> None:
        self.reasons = reasons
        super().__init__(", ".join(f"{name}: {reason.code}" for name, reason in reasons.items()))

    @property
    def code(self) -> str:
        """The first reason's."""
        return next(iter(self.reasons.values())).code

    @property
    def is_conflict(self) -> bool:
        """The store had one of the items in hand: the same may succeed in a moment."""
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
        """The item as the store has it, where a condition failed; None if there is none."""
        raw = self.reasons[name].raw_item
        return kind.from_raw_data(raw) if raw else None


class Transaction:
    """Named writes; the names keep the reasons of a failure with what they are about."""

    def __init__(self) -> None:
        self._table = connection().table_name
        self.names: list[str] = []
        # What is asked of the store, in this order.
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
        """Repeats a transaction that was cancelled for transient reasons only."""
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
            connection().connection._make_api_call(WRITE, self._said())
        except ClientError as error:
            raise self._cancelled(error) from error

    async def commit_async(self) -> None:
        store: Any = connection().connection
        try:
            await store.ask(WRITE, self._said())
        except ClientError as error:
            raise self._cancelled(error) from error

    def _said(self) -> dict[str, Any]:
        return {"TransactItems": self.items, **COUNTED}

    def _cancelled(self, error: ClientError) -> TransactionCancelled:
        """Raises the error again if it is none of a condition or of a busy store."""
        said = full_error_response(error)
        if said["Error"].get("Code") != "TransactionCanceledException":
            raise error
        named = zip(self.names, said["CancellationReasons"], strict=True)
        reasons = {
            name: CancellationReason(reason["Code"], reason.get("Message"), reason.get("Item"))
            for name, reason in named
            if reason["Code"] != "None"
        }
        # ValidationError, for instance, means an item that is too large: no repeat will help.
        if any(reason.code not in EXPECTED_REASONS for reason in reasons.values()):
            raise error
        return TransactionCancelled(reasons)


# What writes in several steps asks for each transaction by yielding it, and is told there what
# became of it: whoever drives it decides how to wait.
TransactionSteps = Generator[Transaction, None, None]


def commit_steps(steps: TransactionSteps) -> None:
    """Here and now."""
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
    """While the event loop does something else."""
    error: Exception | None = None
    with contextlib.closing(steps), contextlib.suppress(StopIteration):
        while True:
            write = steps.throw(error) if error else next(steps)
            try:
                await write.commit_async()
                error = None
            except Exception as raised:
                error = raised
