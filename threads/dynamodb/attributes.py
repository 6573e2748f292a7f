"""Attribute types: PynamoDB's with faster access, plus integers and documents as plain dicts."""

import functools
from typing import TYPE_CHECKING, Any

from pynamodb import attributes
from pynamodb.attributes import Attribute
from pynamodb.constants import LIST, MAP, NULL, NUMBER
from pynamodb.models import Model


class FastAccess:
    """Reads and writes attribute values directly.

    PynamoDB's descriptors check on every access whether the item is nested in another one and how
    the attribute is named there. None of our items is nested.
    """

    # Type checkers see PynamoDB's own descriptors.
    if not TYPE_CHECKING:

        def __set_name__(self, owner, name):
            super().__set_name__(owner, name)
            self.name = name

        def __get__(self, item, owner):
            return self if item is None else item.attribute_values.get(self.name)

        def __set__(self, item, value):
            item.attribute_values[self.name] = value


class UnicodeAttribute(FastAccess, attributes.UnicodeAttribute):
    pass


class UnicodeSetAttribute(FastAccess, attributes.UnicodeSetAttribute):
    pass


class BooleanAttribute(FastAccess, attributes.BooleanAttribute):
    pass


class IntAttribute(FastAccess, Attribute[int]):
    attr_type = NUMBER

    def serialize(self, value: int) -> str:
        return str(int(value))

    def deserialize(self, value: str) -> int:
        return int(value)


class DocumentAttribute(FastAccess, Attribute[dict[str, Any]]):
    """A dict of strings, integers, booleans, None, lists and dicts, stored as a map."""

    attr_type = MAP

    def serialize(self, value: dict[str, Any]) -> dict[str, Any]:
        return {key: _typed(part) for key, part in value.items()}

    def deserialize(self, value: dict[str, Any]) -> dict[str, Any]:
        return _plain_map(value)


class DocumentsAttribute(FastAccess, Attribute[list[Any]]):
    """A list of the values that a `DocumentAttribute` can contain."""

    attr_type = LIST

    def serialize(self, value: list[Any]) -> list[Any]:
        return [_typed(part) for part in value]

    def deserialize(self, value: list[Any]) -> list[Any]:
        return [_plain(part) for part in value]


def _typed(value: Any) -> dict[str, Any]:
    # Most values are text.
    if isinstance(value, str):
        return {"S": value}
    match value:
        case None:
            return {"NULL": True}
        case bool():
            return {"BOOL": value}
        case int():
            return {"N": str(value)}
        case dict():
            return {"M": {key: _typed(part) for key, part in value.items()}}
        case list() | tuple():
            return {"L": [_typed(part) for part in value]}
    raise TypeError(f"cannot be stored in the table: {type(value).__name__}")


def _plain(typed: dict[str, Any]) -> Any:
    ((kind, value),) = typed.items()
    match kind:
        case "S" | "BOOL":
            return value
        case "N":
            return int(value)
        case "NULL":
            return None
        case "M":
            return _plain_map(value)
        case "L":
            return [_plain(part) for part in value]
    raise TypeError(f"not a document: {kind}")


def _plain_map(value: dict[str, Any]) -> dict[str, Any]:
    """Sorted, since DynamoDB returns a map in no particular order: equal maps are rendered from
    the same fragment."""
    return {key: _plain(value[key]) for key in sorted(value)}


# --- Reading items


def parse_attributes(kind: type[Model], raw: dict[str, Any]) -> dict[str, Any]:
    """The attribute values of an item. PynamoDB goes through all attributes of the kind three
    times; this goes through those that are stored."""
    readers, values = _readers(kind), default_values(kind).copy()
    for stored_name, typed in raw.items():
        reader = readers.get(stored_name)
        if reader and typed and NULL not in typed:
            name, attribute, is_as_stored = reader
            stored = attribute.get_value(typed)
            values[name] = stored if is_as_stored else attribute.deserialize(stored)
    return values


@functools.cache
def _readers(kind: type[Model]) -> dict[str, tuple[str, Attribute[Any], bool]]:
    """By the name in the table: Python name, attribute, and whether its value is as stored."""
    return {
        each.attr_name: (name, each, type(each) in (UnicodeAttribute, BooleanAttribute))
        for name, each in kind.get_attributes().items()
    }


@functools.cache
def default_values(kind: type[Model]) -> dict[str, Any]:
    found = {name: each.default for name, each in kind.get_attributes().items()}
    return {name: value for name, value in found.items() if value is not None}
