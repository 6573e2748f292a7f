"""Finds sellers by filters and words, at a cost that does not depend on how many there are.

Filters alone are a range of the index. Words are looked up one by one: if one of them is rare, its
sellers are the candidates; otherwise the next sellers in the order of the directory are, and a page
that does not fill continues after the last of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db.models import Exists, OuterRef, Q, QuerySet

from accounts.models import Block, User
from core.ids import is_id
from people.models import DirectoryCity, DirectoryEntry, DirectoryWord
from people.search.filters import DirectoryFilters
from people.search.words import encode_word

PAGE_SIZE = 18
MAX_CANDIDATES = 200
MAX_CITIES = 50


@dataclass
class DirectoryPage:
    sellers: list[User] = field(default_factory=list)
    # The parameter of the next page; empty at the end.
    next: str = ""


def list_sellers(
    viewer: User, filters: DirectoryFilters, words: Sequence[str] = (), *, after: str = ""
) -> DirectoryPage:
    entries = DirectoryEntry.objects.filter(filters=filters.key).order_by("-position")
    if is_position(after):
        entries = entries.filter(position__lt=after)
    if not words:
        return _make_page(_visible(entries, viewer))
    for word in sorted(words, key=len, reverse=True):
        rare = _list_if_rare(word)
        if rare is not None:
            found = _with_words(entries.filter(user__in=rare), words)
            return _make_page(_visible(found, viewer))
    return _search_window(entries, words, viewer)


def _search_window(
    entries: QuerySet[DirectoryEntry], words: Sequence[str], viewer: User
) -> DirectoryPage:
    window = list(entries.values_list("user", "position")[:MAX_CANDIDATES])
    candidates = entries.filter(user__in=[user for user, _ in window])
    page = _make_page(_visible(_with_words(candidates, words), viewer))
    if not page.next and len(window) == MAX_CANDIDATES:
        page.next = window[-1][1]
    return page


def _list_if_rare(word: str) -> set[str] | None:
    """All sellers with a word that begins so, or None if there may be too many of them."""
    found = DirectoryWord.objects.filter(_begins(word)).order_by("word", "user")
    rows = list(found.values_list("user", flat=True)[:MAX_CANDIDATES])
    return set(rows) if len(rows) < MAX_CANDIDATES else None


def _begins(word: str) -> Q:
    prefix = encode_word(word)
    return Q(word__gte=prefix, word__lt=prefix + b"\xff")


def _with_words(
    entries: QuerySet[DirectoryEntry], words: Sequence[str]
) -> QuerySet[DirectoryEntry]:
    for word in words:
        entries = entries.filter(
            Exists(DirectoryWord.objects.filter(_begins(word), user=OuterRef("user")))
        )
    return entries


def _visible(entries: QuerySet[DirectoryEntry], viewer: User) -> QuerySet[DirectoryEntry]:
    """Without the viewer, suspended users, and users with a block in either direction."""
    by_viewer = Block.objects.filter(blocker=viewer, blocked=OuterRef("user"))
    by_seller = Block.objects.filter(blocker=OuterRef("user"), blocked=viewer)
    visible = entries.filter(~Exists(by_viewer), ~Exists(by_seller), user__is_active=True)
    return visible.exclude(user=viewer)


def _make_page(entries: QuerySet[DirectoryEntry]) -> DirectoryPage:
    found = list(entries.select_related("user__service_profile")[: PAGE_SIZE + 1])
    shown = found[:PAGE_SIZE]
    has_more = len(found) > PAGE_SIZE
    return DirectoryPage([entry.user for entry in shown], shown[-1].position if has_more else "")


def is_position(text: str) -> bool:
    score, _, user_id = text.partition("#")
    return len(score) == 1 and score in "0123456789" and is_id("usr", user_id)


def list_cities() -> list[str]:
    """The cities with most sellers, as suggestions."""
    cities = DirectoryCity.objects.filter(sellers__gt=0).order_by("-sellers", "key")
    return list(cities.values_list("name", flat=True)[:MAX_CITIES])
