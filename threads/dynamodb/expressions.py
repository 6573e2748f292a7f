"""What is asked of the store for one item, as DynamoDB's JSON.

PynamoDB can say it too, for everything that there is to say, and takes several times as long for
the little that we say with every message. Conditions are PynamoDB's, or speak as they do.
"""

import functools
from typing import Any

from pynamodb.expressions.condition import Condition

from threads.dynamodb.change import Change
from threads.dynamodb.sizes import check_size, item_bytes, value_bytes
from threads.dynamodb.stored_attributes import stored_attributes
from threads.dynamodb.table import Item

Request = dict[str, Any]


# Placeholders, by name; and what they stand for, by placeholder.
Names = dict[str, str]
Values = dict[str, Any]


def key_request(table: str, item: Item, condition: Condition | None) -> Request:
    """For a check or a delete."""
    return _conditional(_keyed(table, item), condition, {}, {})


def put_request(table: str, item: Item, condition: Condition | None) -> Request:
    raw = serialized(item)
    check_size(type(item).max_bytes, item_bytes(raw))
    request = {"TableName": table, "Item": raw}
    return _telling(_conditional(request, condition, {}, {}))


def update_request(table: str, item: Item, change: Change, condition: Condition | None) -> Request:
    request = _keyed(table, item)
    words, names = _words(type(item), *map(tuple, change.parts), change.remove)
    request["UpdateExpression"] = words
    return _telling(_conditional(request, condition, names.copy(), _values(type(item), change)))


def serialized(item: Item) -> dict[str, Any]:
    stored, found = item.attribute_values, {}
    for name, column in stored_attributes(type(item)).items():
        value = stored.get(name)
        if value is not None:
            found[column.name] = column.value(value)
        elif not column.null:
            raise ValueError(f"{type(item).__name__} has no {name}")
    return found


def _keyed(table: str, item: Item) -> Request:
    return {"TableName": table, "Key": {"pk": {"S": item.pk}, "sk": {"S": item.sk}}}


def _telling(request: Request) -> Request:
    """If its condition fails, the item as it is comes back."""
    request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    return request


def _conditional(
    request: Request, condition: Condition | None, names: Names, values: Values
) -> Request:
    if condition is not None:
        request["ConditionExpression"] = condition.serialize(names, values)
    if names:
        request["ExpressionAttributeNames"] = {mark: name for name, mark in names.items()}
    if values:
        request["ExpressionAttributeValues"] = values
    return request


def _values(kind: type[Item], change: Change) -> Values:
    """In the order in which they are spoken of."""
    known = stored_attributes(kind)
    written = (known[name].value(value) for part in change.parts for name, value in part.items())
    values = {f":{place}": value for place, value in enumerate(written)}
    check_size(kind.max_bytes, sum(map(value_bytes, values.values())))
    return values


# A few kinds of change are all that is ever said.
@functools.lru_cache(maxsize=1024)
def _words(
    kind: type[Item],
    put: tuple[str, ...],
    put_if_absent: tuple[str, ...],
    added: tuple[str, ...],
    removed: tuple[str, ...],
) -> tuple[str, Names]:
    """The words of an update, and the names in it; the values are numbered as they come."""
    known, names = stored_attributes(kind), Names()
    for name in (*put, *put_if_absent, *added, *removed):
        names.setdefault(known[name].name, f"#{len(names)}")
    mark = {name: names[known[name].name] for name in (*put, *put_if_absent, *added, *removed)}
    place = {name: f":{at}" for at, name in enumerate((*put, *put_if_absent, *added))}
    clauses = {
        "SET": [f"{mark[name]} = {place[name]}" for name in put]
        + [f"{mark[name]} = if_not_exists ({mark[name]}, {place[name]})" for name in put_if_absent],
        "REMOVE": [mark[name] for name in removed],
        "ADD": [f"{mark[name]} {place[name]}" for name in added],
    }
    words = " ".join(f"{word} {', '.join(said)}" for word, said in clauses.items() if said)
    return words, names
