"""What somebody types into the search box: words, and filters such as `from:mara has:file`."""

import re
from dataclasses import dataclass, field
from datetime import date

from inbox.search.normalise import normalise

MAX_QUERY_CHARS = 200
MAX_WORDS = 8
TOKEN = re.compile(r'(?:(from|in|has|card|kind|before|after):)?(?:"([^"]*)"|(\S+))')
HAS = ("image", "file", "card")
# Of days in filters.
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
    # What could not be understood, to say so.
    unclear: list[str] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        filters = (self.by, self.within, self.has, self.card, self.kind, self.before, self.after)
        return not self.words and not any(filters)


def parse_query(text: str) -> SearchQuery:
    question = SearchQuery()
    # PostgreSQL takes no null characters, not even to compare with.
    text = text[:MAX_QUERY_CHARS].replace("\x00", "")
    for name, quoted, plain in TOKEN.findall(text):
        value = quoted or plain
        if not name:
            question.words.append(normalise(value))
        elif not _take(question, name, value):
            question.unclear.append(f"{name}:{value}")
    question.words = [word for word in dict.fromkeys(question.words) if word.strip()][:MAX_WORDS]
    return question


def _take(question: SearchQuery, name: str, value: str) -> bool:
    match name:
        case "from":
            question.by = normalise(value).removeprefix("@")
        case "in":
            question.within = normalise(value)
        case "card":
            question.card = value.lower()
        case "kind" if value in ("inquiry", "project"):
            question.kind = value
        case "has" if value in HAS:
            question.has.append(value)
        case "before" | "after":
            day = _day(value)
            setattr(question, name, day)
            return day is not None
        case _:
            return False
    return True


def _day(text: str) -> date | None:
    """Not at the edges of the calendar, where the day has no midnight in every zone."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if MIN_YEAR <= day.year <= MAX_YEAR else None
