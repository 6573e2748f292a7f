"""Removing what has expired. AWS does it by itself; the embedded engine never does."""

import time
from collections.abc import Iterator
from typing import Any

from pynamodb.exceptions import DeleteError

from threads.models.table import Item, connection

PAGE = 1000


def sweep_expired() -> int:
    """How many went. The one place that reads the whole table: maintenance, not a page."""
    swept = 0
    for raw in _expired(now := int(time.time())):
        item = Item(raw["pk"]["S"], raw["sk"]["S"])
        try:
            # Unless it was written anew since it was read.
            item.delete(Item.ttl <= now)
            swept += 1
        except DeleteError as error:
            if error.cause_response_code != "ConditionalCheckFailedException":
                raise
    return swept


def _expired(now: int) -> Iterator[dict[str, Any]]:
    start = None
    while True:
        page = connection().scan(
            filter_condition=Item.ttl <= now,
            attributes_to_get=["pk", "sk"],
            limit=PAGE,
            exclusive_start_key=start,
        )
        yield from page["Items"]
        start = page.get("LastEvaluatedKey")
        if start is None:
            return
