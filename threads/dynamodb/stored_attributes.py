"""The stored names and types of the attributes of each kind of item."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from threads.dynamodb.table import Item


class StoredAttribute(NamedTuple):
    name: str
    type: str
    serialize: Callable[[Any], Any]
    null: bool
    # An optional attribute with this value is not stored: items above 1 KB cost more to write.
    default: Any

    def value(self, value: Any) -> dict[str, Any]:
        return {self.type: self.serialize(value)}


@functools.cache
def stored_attributes(kind: type[Item]) -> Mapping[str, StoredAttribute]:
    """The attributes of a kind of item, by Python name."""
    return {
        name: StoredAttribute(
            each.attr_name,
            each.attr_type,
            each.serialize,
            bool(each.null),
            each.default if each.null else None,
        )
        for name, each in kind.get_attributes().items()
    }
