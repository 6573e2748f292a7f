"""What is asked of the store for one item, as DynamoDB's JSON.

PynamoDB can say it too, for everything that there is to say, and takes several times as long for
the little that we say with every message. Conditions stay PynamoDB's own.
"""

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from pynamodb.expressions.condition import Condition

if TYPE_CHECKING:
    from threads.models.changes import Change
    from threads.models.table import Item

Request = dict[str, Any]


class Column(NamedTuple):
    name: str
    type: str
    serialize: Callable[[Any], Any]
    null: bool

    def value(self, value: Any) -> dict[str, Any]:
        return {self.type: self.serialize(value)}


@functools.cache
def columns(kind: "type[Item]") -> Mapping[str, Column]:
    """By Python name."""
    return {
        name: Column(each.attr_name, each.attr_type, each.serialize, bool(each.null))
        for name, each in kind.get_attributes().items()
    }


class _Expression:
    """Names and values of one request: each is written once, and meant by a placeholder."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.values: dict[str, Any] = {}

    def name(self, name: str) -> str:
        return self.names.setdefault(name, f"#{len(self.names)}")

    def value(self, value: Any) -> str:
        placeholder = f":{len(self.values)}"
        self.values[placeholder] = value
        return placeholder

    def add_to(self, request: Request) -> Request:
        if self.names:
            request["ExpressionAttributeNames"] = {mark: name for name, mark in self.names.items()}
        if self.values:
            request["ExpressionAttributeValues"] = self.values
        return request


def key_request(table: str, item: "Item", condition: Condition | None) -> Request:
    """For a check or a delete."""
    return _conditional(_keyed(table, item), condition, _Expression())


def put_request(table: str, item: "Item", condition: Condition | None) -> Request:
    request = {"TableName": table, "Item": serialized(item)}
    return _telling(_conditional(request, condition, _Expression()))


def update_request(
    table: str, item: "Item", change: "Change", condition: Condition | None
) -> Request:
    expression = _Expression()
    request = _keyed(table, item)
    request["UpdateExpression"] = _update(columns(type(item)), change, expression)
    return _telling(_conditional(request, condition, expression))


def serialized(item: "Item") -> dict[str, Any]:
    stored, found = item.attribute_values, {}
    for name, column in columns(type(item)).items():
        value = stored.get(name)
        if value is not None:
            found[column.name] = column.value(value)
        elif not column.null:
            raise ValueError(f"{type(item).__name__} has no {name}")
    return found


def _keyed(table: str, item: "Item") -> Request:
    return {"TableName": table, "Key": {"pk": {"S": item.pk}, "sk": {"S": item.sk}}}


def _telling(request: Request) -> Request:
    """If its condition fails, the item as it is comes back."""
    request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    return request


def _conditional(request: Request, condition: Condition | None, expression: _Expression) -> Request:
    if condition is not None:
        said = condition.serialize(expression.names, expression.values)
        request["ConditionExpression"] = said
    return expression.add_to(request)


def _update(known: Mapping[str, Column], change: "Change", expression: _Expression) -> str:
    def said(name: str, value: Any) -> tuple[str, str]:
        column = known[name]
        return expression.name(column.name), expression.value(column.value(value))

    puts = ["{} = {}".format(*said(*each)) for each in change.set.items()]
    for each in change.set_if_absent.items():
        name, value = said(*each)
        puts.append(f"{name} = if_not_exists ({name}, {value})")
    adds = ["{} {}".format(*said(*each)) for each in change.add.items()]
    gone = [expression.name(known[name].name) for name in change.remove]
    clauses = {"SET": puts, "REMOVE": gone, "ADD": adds}
    return " ".join(f"{word} {', '.join(parts)}" for word, parts in clauses.items() if parts)
