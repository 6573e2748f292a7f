"""Requests for one item in DynamoDB's JSON.

PynamoDB's own serialisation supports more and takes several times as long for the few expressions
of a send. A condition is a `ConditionBuilder`, which is part of the template of an update, or
PynamoDB's, which is serialised for every request.
"""

from typing import Any

from pynamodb.expressions.condition import Condition

from threads.dynamodb.change import Change
from threads.dynamodb.conditions import ConditionBuilder
from threads.dynamodb.sizes import check_item, check_values
from threads.dynamodb.stored_attributes import required_attributes, stored_attributes
from threads.dynamodb.table import Item
from threads.dynamodb.templates import Names, Values, update_template

Request = dict[str, Any]


def key_request(table: str, item: Item, condition: Condition | None) -> Request:
    """The request of a condition check or a delete."""
    return _conditional(_keyed(table, item), condition, {}, {})


def put_request(table: str, item: Item, condition: Condition | None) -> Request:
    raw = serialized(item)
    check_item(type(item).max_bytes, raw)
    request = {"TableName": table, "Item": raw}
    return _returning_old(_conditional(request, condition, {}, {}))


def update_request(table: str, item: Item, change: Change, condition: Condition | None) -> Request:
    shape, arguments = None, [value for part in change.parts for value in part.values()]
    written = len(arguments)
    if isinstance(condition, ConditionBuilder):
        shape, arguments, condition = condition.shape, arguments + condition.arguments, None
    template = update_template(type(item), *map(tuple, change.parts), change.remove, shape)
    values = template.encode(arguments)
    check_values(type(item).max_bytes, values, written)
    names = {} if condition is None else template.names.copy()
    request = _keyed(table, item) | template.request
    return _returning_old(_conditional(request, condition, names, values))


def serialized(item: Item) -> dict[str, Any]:
    attributes = stored_attributes(type(item))
    raw = {
        (attribute := attributes[name]).name: attribute.value(value)
        for name, value in item.attribute_values.items()
        if value is not None and value != attributes[name].default
    }
    if missing := required_attributes(type(item)) - raw.keys():
        raise ValueError(f"{type(item).__name__} has no {', '.join(missing)}")
    return raw


def _keyed(table: str, item: Item) -> Request:
    return {"TableName": table, "Key": {"pk": {"S": item.pk}, "sk": {"S": item.sk}}}


def _returning_old(request: Request) -> Request:
    """Makes a failed condition return the stored item."""
    request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    return request


def _conditional(
    request: Request, condition: Condition | None, names: Names, values: Values
) -> Request:
    if condition is not None:
        request["ConditionExpression"] = condition.serialize(names, values)
    if names:
        request["ExpressionAttributeNames"] = {alias: name for name, alias in names.items()}
    if values:
        request["ExpressionAttributeValues"] = values
    return request
