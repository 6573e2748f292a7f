"""Requests of Queries in DynamoDB's JSON.

PynamoDB takes longer to build a Query than the client takes to sign and send it. The conditions
are PynamoDB's; a test compares the requests with those of PynamoDB.
"""

from typing import Any

from pynamodb.expressions.condition import Condition
from pynamodb.indexes import Index

Request = dict[str, Any]


def query_request(
    table: str, pk: str, where: Condition | None, index: Index[Any] | None, *, limit: int
) -> Request:
    """A Query of the table or of an index. The response includes the consumed capacity."""
    hash_key = index._hash_key_attribute().attr_name if index else "pk"
    names: dict[str, str] = {hash_key: "#0"}
    values: dict[str, Any] = {":0": {"S": pk}}
    condition = "#0 = :0"
    if where is not None:
        condition = f"(#0 = :0 AND {where.serialize(names, values)})"
    request = {
        "TableName": table,
        "KeyConditionExpression": condition,
        "ExpressionAttributeNames": {alias: name for name, alias in names.items()},
        "ExpressionAttributeValues": values,
        "Limit": limit,
        "ReturnConsumedCapacity": "TOTAL",
    }
    if index:
        request["IndexName"] = index.Meta.index_name
    return request
