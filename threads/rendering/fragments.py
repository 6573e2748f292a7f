"""A fragment that differs only in a few values: its template is asked once, with marks in their
places, and then they are filled in. Most messages are plain words of people who wrote before."""

import re
import secrets
from collections.abc import Mapping

# Nobody can write what stands for a value.
_SECRET = secrets.token_hex(8)
_MARK = re.compile(rf"{_SECRET}_([a-z]+)_")


def slot(name: str) -> str:
    return f"{_SECRET}_{name}_"


class CachedFragment:
    def __init__(self, rendered: str) -> None:
        self._text = _MARK.sub(r"%(\1)s", rendered.replace("%", "%%"))

    def fill(self, values: Mapping[str, object]) -> str:
        """With values that are safe as they are."""
        return self._text % values
