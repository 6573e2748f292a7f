"""A condition builder for frequent writes, without an object for each part of a condition.

PynamoDB treats the result as one of its own conditions, which can be combined with others.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

from pynamodb.expressions.condition import Condition

from threads.dynamodb.stored_attributes import StoredAttribute, stored_attributes

if TYPE_CHECKING:
    from threads.dynamodb.table import Item

EQUAL = "{0} = {1}"
DIFFERS = "{0} <> {1}"
ABSENT = "attribute_not_exists ({0})"
OVER = "(attribute_not_exists ({0}) OR {0} <= {1})"
FREE = "(attribute_not_exists ({2}) OR {0} <= {1})"


class ConditionShape(NamedTuple):
    """Everything of a condition but its values: the kind of item, and pairs of a template and an
    attribute."""

    kind: "type[Item]"
    parts: tuple[tuple[str, str], ...]

    def expression(self, names: dict[str, str], first: int) -> tuple[str, list[StoredAttribute]]:
        """The expression, whose placeholders are numbered from `first`, and the attributes of its
        values. Adds to the placeholders of names."""
        attributes, clauses = stored_attributes(self.kind), []
        compared: list[StoredAttribute] = []
        for template, attribute_name in self.parts:
            attribute = attributes[attribute_name]
            name = names.setdefault(attribute.name, f"#{len(names)}")
            key = names.setdefault("pk", f"#{len(names)}") if template is FREE else ""
            clauses.append(template.format(name, f":{first + len(compared)}", key))
            if template is not ABSENT:
                compared.append(attribute)
        expression = " AND ".join(clauses)
        # DynamoDB rejects redundant parentheses.
        is_enclosed = len(clauses) == 1 and expression[0] == "("
        return expression if is_enclosed else f"({expression})", compared


class ConditionBuilder(Condition):
    """A conjunction of simple conditions on the attributes of one kind of item."""

    def __init__(self, kind: "type[Item]") -> None:
        super().__init__("AND")
        self._kind = kind
        self._parts: list[tuple[str, str]] = []
        # The values of the parts that have one.
        self.arguments: list[Any] = []

    @property
    def shape(self) -> ConditionShape:
        return ConditionShape(self._kind, tuple(self._parts))

    def equal(self, **values: Any) -> "ConditionBuilder":
        return self._all(EQUAL, values)

    def differ(self, **values: Any) -> "ConditionBuilder":
        return self._all(DIFFERS, values)

    def over(self, **values: Any) -> "ConditionBuilder":
        """The attribute is absent, or its time has passed."""
        return self._all(OVER, values)

    def free(self, **values: Any) -> "ConditionBuilder":
        """The item is absent, or its time has passed."""
        return self._all(FREE, values)

    def absent(self, *names: str) -> "ConditionBuilder":
        self._parts += [(ABSENT, name) for name in names]
        return self

    def _all(self, template: str, values: dict[str, Any]) -> "ConditionBuilder":
        self._parts += [(template, name) for name in values]
        self.arguments += values.values()
        return self

    def __and__(self, other: Condition) -> Condition:
        if not isinstance(other, ConditionBuilder) or other._kind is not self._kind:
            return super().__and__(other)
        both = ConditionBuilder(self._kind)
        both._parts = self._parts + other._parts
        both.arguments = self.arguments + other.arguments
        return both

    def serialize(self, names: dict[str, str], values: dict[str, Any]) -> str:
        expression, compared = self.shape.expression(names, len(values))
        for attribute, argument in zip(compared, self.arguments, strict=True):
            values[f":{len(values)}"] = attribute.value(argument)
        return expression
