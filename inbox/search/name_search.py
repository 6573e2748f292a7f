"""Finding somebody, or a conversation, by a few letters of a name or subject.

Among one's own conversations, by the index of search; the table decides. Somebody else is found by
the whole handle alone: nobody can leaf through the people there are.
"""

from dataclasses import dataclass

from accounts.models import User
from inbox.models import IndexedThread
from inbox.queries import list_folder
from inbox.rows import InboxRow, row_of
from inbox.search.matcher import without_own_name
from inbox.search.normalise import normalise
from threads.models import Participant, Person
from threads.models.participant import INBOX
from threads.models.profiles import build_person
from threads.queries import get_rows

MAX_QUERY_CHARS = 80
MAX_WORDS = 5
# So many are looked at, the newest first; so many of them are shown.
MAX_ROWS = 50
SHOWN = 7
SHOWN_PEOPLE = 4


@dataclass
class NameMatches:
    rows: list[InboxRow]
    people: list[Person]


def search_names(user: User, text: str) -> NameMatches:
    """Names that begin so come first, then the newest. For no text, the newest of the inbox."""
    # PostgreSQL takes no null characters, not even to compare with.
    text = text[:MAX_QUERY_CHARS].replace("\x00", "")
    words = normalise(text).replace("@", " ").split()[:MAX_WORDS]
    if not words:
        latest = list_folder(user, INBOX, size=SHOWN).rows
        return NameMatches([row_of(user, row) for row in latest], [])
    rows = sorted(_rows(user, words), key=lambda row: _rank(row, words))
    people = {row.other_side["id"]: row.other_side for row in rows if _is_named(row, words)}
    people |= _by_handle(user, text)
    shown = [row_of(user, row) for row in rows[:SHOWN]]
    return NameMatches(shown, list(people.values())[:SHOWN_PEOPLE])


def _rows(user: User, words: list[str]) -> list[Participant]:
    threads = IndexedThread.objects.filter(people__user_id=user.id).annotate(
        others=without_own_name(user)
    )
    for word in words:
        threads = threads.filter(others__contains=word)
    found = threads.order_by("-last_at", "-pk").values_list("pk", flat=True)[:MAX_ROWS]
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
