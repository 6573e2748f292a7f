"""The size of an item as DynamoDB counts it, and the limit that every kind declares.

DynamoDB rejects items above 400 KB. An item of that size could not be changed any more, so each
kind has a lower limit of its own (`max_bytes`), above what the limits of the product allow.
"""

from itertools import islice
from typing import Any

import orjson

from core.refusals import Refusal

KB = 1024
MAX_ITEM_BYTES = 400 * KB


def item_bytes(raw: dict[str, dict[str, Any]]) -> int:
    """The size of an item in DynamoDB's JSON: attribute names and values."""
    return sum(len(name.encode()) + value_bytes(value) for name, value in raw.items())


def value_bytes(value: dict[str, Any]) -> int:
    ((kind, held),) = value.items()
    match kind:
        case "S":
            return len(held.encode())
        case "N":
            return len(held) // 2 + 2
        case "SS":
            return sum(len(each.encode()) for each in held)
        case "L":
            return 3 + sum(1 + value_bytes(each) for each in held)
        case "M":
            return 3 + len(held) + item_bytes(held)
        case _:
            return 1


def check_item(max_bytes: int, raw: dict[str, dict[str, Any]]) -> None:
    """Checks an item in DynamoDB's JSON, whose text is longer than what DynamoDB counts. So the
    exact size is computed only for items near the limit."""
    if len(orjson.dumps(raw)) > max_bytes:
        check_size(max_bytes, item_bytes(raw))


def check_values(max_bytes: int, values: dict[str, dict[str, Any]], count: int) -> None:
    """Checks the first `count` of the values of an update, in the same way."""
    if len(orjson.dumps(values)) > max_bytes:
        check_size(max_bytes, sum(map(value_bytes, islice(values.values(), count))))


def check_size(max_bytes: int, size: int) -> None:
    """Refuses before the write, so that the transaction of the item is not sent."""
    if size > max_bytes:
        raise Refusal("TOO_LARGE")
