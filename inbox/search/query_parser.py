"""Parses a search query: words, and filters such as `from:mara has:file`."""

import re
from dataclasses import dataclass, field
from datetime import date

from core.normalise import normalise

MAX_QUERY_CHARS = 200
MAX_WORDS = 8
TOKEN = re.compile(r'(?:(from|in|has|card|kind|before|after):)?(?:"([^"]*)"|(\S+))')
HAS = ("image", "file", "card")
# The years that date filters accept.
MIN_YEAR, MAX_YEAR = 1970, 2999


@dataclass
class SearchQuery:
    words: list[str] = field(default_factory=list)
    by: str = ""
    within: str = ""
    has: list[str] = field(default_factory=list)
    card: str = ""
    kind: str = ""
    before: date | None = None
    after: date | None = None
    # Invalid filters, which the page lists.
    ignored_filters: list[str] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        filters = (self.by, self.within, self.has, self.card, self.kind, self.before, self.after)
        return not self.words and not any(filters)


def parse_query(text: str) -> SearchQuery:
    query = SearchQuery()
    # PostgreSQL rejects null characters, also in comparisons.
    text = text[:MAX_QUERY_CHARS].replace("\x00", "")
    for name, quoted, plain in TOKEN.findall(text):
        value = quoted or plain
        if not name:
            query.words.append(normalise(value))
        elif not _apply_filter(query, name, value):
            query.ignored_filters.append(f"{name}:{value}")
    query.words = [word for word in dict.fromkeys(query.words) if word.strip()][:MAX_WORDS]
    return query


def _apply_filter(query: SearchQuery, name: str, value: str) -> bool:
    match name:
        case "from":
            query.by = normalise(value).removeprefix("@")
        case "in":
            query.within = normalise(value)
        case "card":
            query.card = value.lower()
        case "kind" if value in ("inquiry", "project"):
            query.kind = value
        case "has" if value in HAS:
            query.has.append(value)
        case "before" | "after":
            day = _day(value)
            setattr(query, name, day)
            return day is not None
        case _:
            return False
    return True


def _day(text: str) -> date | None:
    """Excludes the ends of the calendar, where a day has no midnight in some time zones."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if MIN_YEAR <= day.year <= MAX_YEAR else None
