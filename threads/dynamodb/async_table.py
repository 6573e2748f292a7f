"""Reads and writes of the table on the event loop, without a worker thread for each of them."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

from botocore.exceptions import ClientError
from pynamodb.constants import BATCH_GET_PAGE_LIMIT, BATCH_WRITE_PAGE_LIMIT
from pynamodb.expressions.condition import Condition

from threads.dynamodb.change import Change
from threads.dynamodb.expressions import update_request
from threads.dynamodb.query_requests import query_request
from threads.dynamodb.responses import Response
from threads.dynamodb.retry import Backoff
from threads.dynamodb.table import Index, Item, Key, Page, connection, parse_items, serialized
from threads.dynamodb.transactions import COUNT_CAPACITY


async def query_index(index: Index[Item], pk: str, *, limit: int) -> Page:
    """The first items of a partition of an index; an index has no consistent reads."""
    request = query_request(connection().table_name, pk, None, index, limit=limit)
    response = await _call("Query", request)
    return Page(_parse(response["Items"]), response.get("LastEvaluatedKey"))


async def get_many(keys: Iterable[Key]) -> list[Item]:
    return _parse(await _batch_get(keys, {"ConsistentRead": True}))


async def get_attributes(keys: Iterable[Key], names: Sequence[str]) -> list[dict[str, Any]]:
    """Attributes of items in DynamoDB's JSON. They may be a moment old, at half the price."""
    aliases = {f"#{at}": name for at, name in enumerate(names)}
    projection = {"ProjectionExpression": ", ".join(aliases), "ExpressionAttributeNames": aliases}
    return await _batch_get(keys, projection)


async def _batch_get(keys: Iterable[Key], options: dict[str, Any]) -> list[dict[str, Any]]:
    table = connection().table_name
    wanted = [{"pk": {"S": pk}, "sk": {"S": sk}} for pk, sk in dict.fromkeys(keys)]
    found: list[dict[str, Any]] = []
    backoff = Backoff()
    while wanted:
        chunk, wanted = wanted[:BATCH_GET_PAGE_LIMIT], wanted[BATCH_GET_PAGE_LIMIT:]
        request = {"RequestItems": {table: {"Keys": chunk, **options}}}
        response = await _call("BatchGetItem", request)
        found += response["Responses"].get(table, [])
        left = response.get("UnprocessedKeys", {}).get(table, {}).get("Keys", [])
        if left:
            wanted += left
            await asyncio.sleep(backoff.next_delay("UnprocessedKeys"))
    return found


async def write_many(puts: Iterable[Item], deletes: Iterable[Key]) -> None:
    """Puts and deletes items by BatchWriteItem; no key may occur twice."""
    table = connection().table_name
    waiting = [{"PutRequest": {"Item": serialized(item)}} for item in puts] + [
        {"DeleteRequest": {"Key": {"pk": {"S": pk}, "sk": {"S": sk}}}} for pk, sk in deletes
    ]
    backoff = Backoff()
    while waiting:
        chunk, waiting = waiting[:BATCH_WRITE_PAGE_LIMIT], waiting[BATCH_WRITE_PAGE_LIMIT:]
        response = await _call("BatchWriteItem", {"RequestItems": {table: chunk}})
        left = response.get("UnprocessedItems", {}).get(table, [])
        if left:
            waiting += left
            await asyncio.sleep(backoff.next_delay("UnprocessedItems"))


async def update(item: Item, change: Change, condition: Condition) -> bool:
    """Updates one item; returns whether the condition held."""
    request = update_request(connection().table_name, item, change, condition)
    try:
        await _call("UpdateItem", request)
    except ClientError as error:
        if error.response["Error"].get("Code") == "ConditionalCheckFailedException":
            return False
        raise
    return True


async def _call(operation: str, request: dict[str, Any]) -> Response:
    store: Any = connection().connection
    response: Response = await store.call_async(operation, request | COUNT_CAPACITY)
    return response


def _parse(raws: list[dict[str, Any]]) -> list[Item]:
    return [item for item in parse_items(raws) if not item.is_expired]
