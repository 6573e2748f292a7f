"""The stored names and types of the attributes of each kind of item."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pynamodb.attributes import Attribute

from threads.dynamodb.attributes import BooleanAttribute, IntAttribute, UnicodeAttribute
from threads.dynamodb.table import Item

# What `serialize` of the most frequent types does, without a call of Python code.
FAST_SERIALIZERS: dict[type, Callable[[Any], Any] | None] = {
    UnicodeAttribute: None,
    BooleanAttribute: bool,
    IntAttribute: int.__repr__,
}


class StoredAttribute(NamedTuple):
    name: str
    type: str
    # None if a value is stored as it is.
    serialize: Callable[[Any], Any] | None
    null: bool
    # An optional attribute with this value is not stored: items above 1 KB cost more to write.
    default: Any

    def value(self, value: Any) -> dict[str, Any]:
        return {self.type: value if self.serialize is None else self.serialize(value)}


@functools.cache
def stored_attributes(kind: type[Item]) -> Mapping[str, StoredAttribute]:
    """The attributes of a kind of item, by Python name."""
    return {name: _stored(each) for name, each in kind.get_attributes().items()}


@functools.cache
def required_attributes(kind: type[Item]) -> frozenset[str]:
    """The stored names of attributes that every item of the kind has."""
    return frozenset(each.name for each in stored_attributes(kind).values() if not each.null)


def _stored(attribute: Attribute[Any]) -> StoredAttribute:
    serialize = FAST_SERIALIZERS.get(type(attribute), attribute.serialize)
    is_optional = bool(attribute.null)
    default = attribute.default if is_optional else None
    return StoredAttribute(
        attribute.attr_name, attribute.attr_type, serialize, is_optional, default
    )
