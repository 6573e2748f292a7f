"""Conditions that go with every message, said without an object for each of their parts.

To PynamoDB one is a condition like its own, which can be joined with others of them.
"""

from typing import TYPE_CHECKING, Any, Self

from pynamodb.expressions.condition import Condition

from threads.dynamodb.stored_attributes import StoredAttribute, stored_attributes

if TYPE_CHECKING:
    from threads.dynamodb.table import Item

EQUAL = "{0} = {1}"
DIFFERS = "{0} <> {1}"
ABSENT = "attribute_not_exists ({0})"
OVER = "(attribute_not_exists ({0}) OR {0} <= {1})"
FREE = "(attribute_not_exists ({2}) OR {0} <= {1})"


class ConditionBuilder(Condition):
    """All of what is asked for holds."""

    def __init__(self, kind: "type[Item]") -> None:
        super().__init__("AND")
        self._columns = stored_attributes(kind)
        self._parts: list[tuple[str, StoredAttribute, Any]] = []

    def equal(self, **values: Any) -> Self:
        return self._all(EQUAL, values)

    def differ(self, **values: Any) -> Self:
        return self._all(DIFFERS, values)

    def over(self, **values: Any) -> Self:
        """There is none, or it has passed."""
        return self._all(OVER, values)

    def free(self, **values: Any) -> Self:
        """There is no such item, or its time has passed."""
        return self._all(FREE, values)

    def absent(self, *names: str) -> Self:
        return self._all(ABSENT, dict.fromkeys(names))

    def _all(self, words: str, values: dict[str, Any]) -> Self:
        known = self._columns
        self._parts += [(words, known[name], value) for name, value in values.items()]
        return self

    def serialize(self, names: dict[str, str], values: dict[str, Any]) -> str:
        said = []
        for words, column, value in self._parts:
            name = names.setdefault(column.name, f"#{len(names)}")
            key = names.setdefault("pk", f"#{len(names)}") if words is FREE else ""
            mark = f":{len(values)}"
            if words is not ABSENT:
                values[mark] = column.value(value)
            said.append(words.format(name, mark, key))
        whole = " AND ".join(said)
        # One pair of parentheses too many, and DynamoDB refuses it.
        return whole if len(said) == 1 and whole[0] == "(" else f"({whole})"
