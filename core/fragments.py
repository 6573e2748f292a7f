"""Rendered HTML fragments that are reused.

`render_fragment` keeps a rendered template under everything that it was rendered from, so that a
changed value is another fragment and no fragment is ever stale. What differs in every response,
such as a CSRF token, is rendered as a slot and filled in at the end.
"""

import hashlib
import io
import pickle
import re
import secrets
import sys
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.template.loader import get_template
from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe

MAX_FRAGMENTS = 20_000
MAX_FRAGMENT_BYTES = 64 * 1024 * 1024

# Random, so that no text of a user can contain a slot.
_SECRET = secrets.token_hex(8)
_SLOT = re.compile(rf"{_SECRET}_([a-z]+)_")


def slot(name: str) -> str:
    return f"{_SECRET}_{name}_"


class CachedFragment:
    """A fragment with slots for values that differ."""

    def __init__(self, rendered: str) -> None:
        self._text = _SLOT.sub(r"%(\1)s", rendered.replace("%", "%%"))

    def fill(self, values: Mapping[str, object]) -> str:
        """The values must be escaped already."""
        return self._text % values


class FragmentCache:
    """The most recently used fragments, limited by their number and their total size."""

    def __init__(self, *, max_entries: int, max_bytes: int) -> None:
        self._max_entries, self._max_bytes = max_entries, max_bytes
        self._entries: OrderedDict[bytes | str, str] = OrderedDict()
        self._lock = threading.Lock()
        self.total_bytes = 0

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: bytes | str) -> str | None:
        with self._lock:
            html = self._entries.get(key)
            if html is not None:
                self._entries.move_to_end(key)
            return html

    def put(self, key: bytes | str, html: str) -> None:
        with self._lock:
            self._remove(key)
            self._entries[key] = html
            self.total_bytes += _size(key, html)
            while len(self) > self._max_entries or self.total_bytes > self._max_bytes:
                self._remove(next(iter(self._entries)))

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
            self.total_bytes = 0

    def _remove(self, key: bytes | str) -> None:
        html = self._entries.pop(key, None)
        if html is not None:
            self.total_bytes -= _size(key, html)


def _size(key: bytes | str, html: str) -> int:
    return sys.getsizeof(key) + sys.getsizeof(html)


fragments = FragmentCache(max_entries=MAX_FRAGMENTS, max_bytes=MAX_FRAGMENT_BYTES)


def render_fragment(template: str, context: dict[str, Any]) -> SafeString:
    """Renders a template with this context and nothing else, or returns the cached result."""
    key = _key(template, context)
    html = fragments.get(key)
    if html is None:
        html = get_template(template).render(context)
        fragments.put(key, html)
    return mark_safe(html)


def render_list(template: str, name: str, items: Sequence[Any]) -> SafeString:
    """Renders the template once for each item; a list that is cached as a whole is one lookup."""
    key = _key(template, {f"{name} list": items})
    html = fragments.get(key)
    if html is None:
        html = "".join(render_fragment(template, {name: item}) for item in items)
        fragments.put(key, html)
    return mark_safe(html)


def _key(template: str, context: dict[str, Any]) -> bytes:
    """A hash of the complete context by value, and of what template tags read besides it: the
    time zone and the day."""
    zone = timezone.get_current_timezone()
    today = datetime.now(zone).date()
    complete = io.BytesIO()
    pickler = pickle.Pickler(complete, pickle.HIGHEST_PROTOCOL)
    # Otherwise the result depends on whether two equal texts are the same object.
    pickler.fast = True
    pickler.dump((template, str(zone), today, context))
    return hashlib.blake2b(complete.getbuffer(), digest_size=32).digest()
