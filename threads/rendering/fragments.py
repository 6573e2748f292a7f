"""HTML fragments that differ only in a few values: the template is rendered once with a slot for
each value, and the slots are filled in for every message."""

import re
import secrets
from collections.abc import Mapping

# Random, so that no message text can contain a slot.
_SECRET = secrets.token_hex(8)
_SLOT = re.compile(rf"{_SECRET}_([a-z]+)_")


def slot(name: str) -> str:
    return f"{_SECRET}_{name}_"


class CachedFragment:
    def __init__(self, rendered: str) -> None:
        self._text = _SLOT.sub(r"%(\1)s", rendered.replace("%", "%%"))

    def fill(self, values: Mapping[str, object]) -> str:
        """The values must be escaped already."""
        return self._text % values
