"""Finds people and threads by a few letters of a name or subject.

Searches the user's own threads in the search index, and reads every match from the table. Other
people are found only by their complete handle, so that users cannot be enumerated.
"""

from dataclasses import dataclass

from accounts.models import User
from core.normalise import normalise
from inbox.models import IndexedThread
from inbox.queries import list_folder
from inbox.rows import InboxRow, row_of
from inbox.search.matcher import without_own_name
from threads.models import Participant, Person
from threads.models.participant import INBOX
from threads.models.profiles import build_person
from threads.queries import get_rows

MAX_QUERY_CHARS = 80
MAX_WORDS = 5
# The newest matches are ranked, and the best of them shown.
MAX_CANDIDATES = 50
MAX_SHOWN_ROWS = 7
MAX_SHOWN_PEOPLE = 4


@dataclass
class NameMatches:
    rows: list[InboxRow]
    people: list[Person]


def search_names(user: User, text: str) -> NameMatches:
    """Names that begin with the words first, then the newest. Without text, the newest of the
    inbox."""
    # PostgreSQL rejects null characters, also in comparisons.
    text = text[:MAX_QUERY_CHARS].replace("\x00", "")
    words = normalise(text).replace("@", " ").split()[:MAX_WORDS]
    if not words:
        latest = list_folder(user, INBOX, size=MAX_SHOWN_ROWS).rows
        return NameMatches([row_of(user, row) for row in latest], [])
    rows = sorted(_rows(user, words), key=lambda row: _rank(row, words))
    people = {row.other_side["id"]: row.other_side for row in rows if _is_named(row, words)}
    people |= _by_handle(user, text)
    shown = [row_of(user, row) for row in rows[:MAX_SHOWN_ROWS]]
    return NameMatches(shown, list(people.values())[:MAX_SHOWN_PEOPLE])


def _rows(user: User, words: list[str]) -> list[Participant]:
    threads = IndexedThread.objects.filter(people__user_id=user.id).annotate(
        others=without_own_name(user)
    )
    for word in words:
        threads = threads.filter(others__contains=word)
    found = threads.order_by("-last_at", "-pk").values_list("pk", flat=True)[:MAX_CANDIDATES]
    return get_rows(user, list(found))


def _rank(row: Participant, words: list[str]) -> int:
    names = normalise(row.other_side["name"]).split()
    begins = [any(name.startswith(word) for name in names) for word in words]
    return 0 if all(begins) else 1 if any(begins) else 2


def _is_named(row: Participant, words: list[str]) -> bool:
    name = normalise(f"{row.other_side['name']} {row.other_side['handle']}")
    return all(word in name for word in words)


def _by_handle(user: User, text: str) -> dict[str, Person]:
    handle = text.strip().removeprefix("@").lower()
    found = User.objects.filter(handle=handle, is_active=True).exclude(pk=user.pk).first()
    return {found.id: build_person(found)} if found else {}
