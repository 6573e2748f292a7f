"""Requests for one item in DynamoDB's JSON.

PynamoDB's own serialisation supports more and takes several times as long for the few expressions
of a send. Conditions are PynamoDB's, or have the same interface.
"""

import functools
from typing import Any

from pynamodb.expressions.condition import Condition

from threads.dynamodb.change import Change
from threads.dynamodb.sizes import check_size, item_bytes, value_bytes
from threads.dynamodb.stored_attributes import stored_attributes
from threads.dynamodb.table import Item

Request = dict[str, Any]


# Placeholders by attribute name, and values by placeholder.
Names = dict[str, str]
Values = dict[str, Any]


def key_request(table: str, item: Item, condition: Condition | None) -> Request:
    """The request of a condition check or a delete."""
    return _conditional(_keyed(table, item), condition, {}, {})


def put_request(table: str, item: Item, condition: Condition | None) -> Request:
    raw = serialized(item)
    check_size(type(item).max_bytes, item_bytes(raw))
    request = {"TableName": table, "Item": raw}
    return _returning_old(_conditional(request, condition, {}, {}))


def update_request(table: str, item: Item, change: Change, condition: Condition | None) -> Request:
    request = _keyed(table, item)
    expression, names = _expression(type(item), *map(tuple, change.parts), change.remove)
    request["UpdateExpression"] = expression
    return _returning_old(
        _conditional(request, condition, names.copy(), _values(type(item), change))
    )


def serialized(item: Item) -> dict[str, Any]:
    stored, raw = item.attribute_values, {}
    for name, attribute in stored_attributes(type(item)).items():
        value = stored.get(name)
        if value is not None and value != attribute.default:
            raw[attribute.name] = attribute.value(value)
        elif not attribute.null:
            raise ValueError(f"{type(item).__name__} has no {name}")
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


def _values(kind: type[Item], change: Change) -> Values:
    """The values of a change, numbered in the order of the expression."""
    attributes = stored_attributes(kind)
    written = (
        attributes[name].value(value) for part in change.parts for name, value in part.items()
    )
    values = {f":{placeholder}": value for placeholder, value in enumerate(written)}
    check_size(kind.max_bytes, sum(map(value_bytes, values.values())))
    return values


# Sends use only a few different sets of attributes.
@functools.lru_cache(maxsize=1024)
def _expression(
    kind: type[Item],
    put: tuple[str, ...],
    put_if_absent: tuple[str, ...],
    added: tuple[str, ...],
    removed: tuple[str, ...],
) -> tuple[str, Names]:
    """The update expression and its attribute names; values are numbered in order."""
    attributes, names = stored_attributes(kind), Names()
    for name in (*put, *put_if_absent, *added, *removed):
        names.setdefault(attributes[name].name, f"#{len(names)}")
    alias = {
        name: names[attributes[name].name] for name in (*put, *put_if_absent, *added, *removed)
    }
    placeholder = {name: f":{at}" for at, name in enumerate((*put, *put_if_absent, *added))}
    clauses = {
        "SET": [f"{alias[name]} = {placeholder[name]}" for name in put]
        + [
            f"{alias[name]} = if_not_exists ({alias[name]}, {placeholder[name]})"
            for name in put_if_absent
        ],
        "REMOVE": [alias[name] for name in removed],
        "ADD": [f"{alias[name]} {placeholder[name]}" for name in added],
    }
    expression = " ".join(f"{word} {', '.join(parts)}" for word, parts in clauses.items() if parts)
    return expression, names
