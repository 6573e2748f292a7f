"""A condition builder for frequent writes, without an object for each part of a condition.

PynamoDB treats the result as one of its own conditions, which can be combined with others.
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
    """A conjunction of simple conditions on the attributes of one kind of item."""

    def __init__(self, kind: "type[Item]") -> None:
        super().__init__("AND")
        self._attributes = stored_attributes(kind)
        self._parts: list[tuple[str, StoredAttribute, Any]] = []

    def equal(self, **values: Any) -> Self:
        return self._all(EQUAL, values)

    def differ(self, **values: Any) -> Self:
        return self._all(DIFFERS, values)

    def over(self, **values: Any) -> Self:
        """The attribute is absent, or its time has passed."""
        return self._all(OVER, values)

    def free(self, **values: Any) -> Self:
        """The item is absent, or its time has passed."""
        return self._all(FREE, values)

    def absent(self, *names: str) -> Self:
        return self._all(ABSENT, dict.fromkeys(names))

    def _all(self, template: str, values: dict[str, Any]) -> Self:
        attributes = self._attributes
        self._parts += [(template, attributes[name], value) for name, value in values.items()]
        return self

    def serialize(self, names: dict[str, str], values: dict[str, Any]) -> str:
        parts = []
        for template, attribute, value in self._parts:
            name = names.setdefault(attribute.name, f"#{len(names)}")
            key = names.setdefault("pk", f"#{len(names)}") if template is FREE else ""
            placeholder = f":{len(values)}"
            if template is not ABSENT:
                values[placeholder] = attribute.value(value)
            parts.append(template.format(name, placeholder, key))
        expression = " AND ".join(parts)
        # DynamoDB rejects redundant parentheses.
        return expression if len(parts) == 1 and expression[0] == "(" else f"({expression})"
