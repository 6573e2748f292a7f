"""How the attributes of a kind of item are called and written in the table."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from threads.dynamodb.table import Item


class StoredAttribute(NamedTuple):
    name: str
    type: str
    serialize: Callable[[Any], Any]
    null: bool

    def value(self, value: Any) -> dict[str, Any]:
        return {self.type: self.serialize(value)}


@functools.cache
def stored_attributes(kind: type[Item]) -> Mapping[str, StoredAttribute]:
    """By Python name."""
    return {
        name: StoredAttribute(each.attr_name, each.attr_type, each.serialize, bool(each.null))
        for name, each in kind.get_attributes().items()
    }
