"""Everything of an update that does not depend on its values, made once for each combination of
attributes and conditions."""

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

from threads.dynamodb.conditions import ConditionShape
from threads.dynamodb.stored_attributes import StoredAttribute, stored_attributes
from threads.dynamodb.table import Item

# Placeholders by attribute name, and values by placeholder.
Names = dict[str, str]
Values = dict[str, Any]


class UpdateTemplate(NamedTuple):
    # The parts of the request that are always the same; not to be changed.
    request: dict[str, Any]
    names: Names
    # The placeholder, type and serializer of each value.
    slots: tuple[tuple[str, str, Any], ...]

    def encode(self, arguments: list[Any]) -> Values:
        return {
            placeholder: {kind: value if serialize is None else serialize(value)}
            for (placeholder, kind, serialize), value in zip(self.slots, arguments, strict=True)
        }


# Sends use only a few different sets of attributes and conditions.
@functools.lru_cache(maxsize=1024)
def update_template(
    kind: type[Item],
    put: tuple[str, ...],
    put_if_absent: tuple[str, ...],
    added: tuple[str, ...],
    removed: tuple[str, ...],
    condition: ConditionShape | None,
) -> UpdateTemplate:
    """Values are numbered in the order of the arguments, those of the condition last."""
    attributes, names = stored_attributes(kind), Names()
    written = [attributes[name] for name in (*put, *put_if_absent, *added)]
    aliases = {
        name: names.setdefault(attributes[name].name, f"#{len(names)}")
        for name in (*put, *put_if_absent, *added, *removed)
    }
    request: dict[str, Any] = {
        "UpdateExpression": _update_expression(aliases, put, put_if_absent, added, removed)
    }
    compared: list[StoredAttribute] = []
    if condition is not None:
        request["ConditionExpression"], compared = condition.expression(names, len(written))
    stored_names = {"ExpressionAttributeNames": {alias: name for name, alias in names.items()}}
    stored = enumerate(written + compared)
    slots = tuple((f":{at}", each.type, each.serialize) for at, each in stored)
    return UpdateTemplate(request | stored_names, names, slots)


def _update_expression(
    aliases: Mapping[str, str],
    put: tuple[str, ...],
    put_if_absent: tuple[str, ...],
    added: tuple[str, ...],
    removed: tuple[str, ...],
) -> str:
    placeholder = {name: f":{at}" for at, name in enumerate((*put, *put_if_absent, *added))}
    clauses = {
        "SET": [f"{aliases[name]} = {placeholder[name]}" for name in put]
        + [
            f"{aliases[name]} = if_not_exists ({aliases[name]}, {placeholder[name]})"
            for name in put_if_absent
        ],
        "REMOVE": [aliases[name] for name in removed],
        "ADD": [f"{aliases[name]} {placeholder[name]}" for name in added],
    }
    return " ".join(f"{word} {', '.join(parts)}" for word, parts in clauses.items() if parts)
