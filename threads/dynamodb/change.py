"""A change of an item, applied to the store and to the copy in memory."""

from dataclasses import dataclass, field
from typing import Any

from threads.dynamodb.table import Item


@dataclass
class Change:
    """Attributes to set, to set if absent, to add to and to remove, by Python name."""

    set: dict[str, Any] = field(default_factory=dict)
    set_if_absent: dict[str, Any] = field(default_factory=dict)
    add: dict[str, int] = field(default_factory=dict)
    remove: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[dict[str, Any], dict[str, Any], dict[str, int]]:
        """The parts that have values."""
        return self.set, self.set_if_absent, self.add

    def apply(self, item: Item) -> None:
        values = item.attribute_values
        values.update(self.set)
        for name, value in self.set_if_absent.items():
            if values.get(name) is None:
                values[name] = value
        for name, added in self.add.items():
            values[name] = (values.get(name) or 0) + added
        values.update(dict.fromkeys(self.remove))

    def then(self, later: "Change") -> "Change":
        """One change with the effect of this one followed by `later`."""
        both = Change(dict(self.set), dict(self.set_if_absent), dict(self.add), self.remove)
        for name, value in later.set.items():
            both._drop(name)
            both.set[name] = value
        for name, value in later.set_if_absent.items():
            if name in both.remove:
                both._drop(name)
                both.set[name] = value
            elif name not in both.set:
                both.set_if_absent.setdefault(name, value)
        for name, value in later.add.items():
            if name in both.set:
                both.set[name] += value
            else:
                both.add[name] = both.add.get(name, 0) + value
        for name in later.remove:
            both._drop(name)
            both.remove += (name,)
        return both

    def _drop(self, name: str) -> None:
        for values in (self.set, self.set_if_absent, self.add):
            values.pop(name, None)
        self.remove = tuple(other for other in self.remove if other != name)
