"""A prefilter for rules: cheap clues from single words decide which patterns are worth matching.

The clues of a word are cached, since words repeat.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

Clues = frozenset[str]
NONE: Clues = frozenset()
# Longer words rarely repeat.
MAX_CACHED_CHARS = 40
BEGINNING = 3
# Parts of words by their first letters, each with its clue.
_PARTS: dict[str, list[tuple[str, str]]] = {}


class Clued:
    """A pattern with word parts of which every match contains one; without any it is not matched.

    A space in a part is a word boundary.
    """

    def __init__(self, pattern: str, *parts: str) -> None:
        self.pattern = pattern
        self.compiled = re.compile(pattern)
        for part in parts:
            _add_part(part, pattern)

    def search(self, text: str) -> re.Match[str] | None:
        return self.compiled.search(text) if self.pattern in clues_of(text) else None


class Phrases:
    """A set of phrases, each matched only if its rarest word is present."""

    def __init__(self, phrases: Iterable[str]) -> None:
        self.phrases = frozenset(phrases)
        for phrase in self.phrases:
            _add_part(_rarest_word(phrase), phrase)

    def found_in(self, text: str) -> list[str]:
        return [phrase for phrase in self.phrases & clues_of(text) if phrase in text]


# Cached: several rules need the clues of the same text and its sentences.
@lru_cache(maxsize=64)
def clues_of(text: str) -> Clues:
    words = text.split()
    return NONE.union(
        *[
            _cached_clues(word) if len(word) <= MAX_CACHED_CHARS else _find_clues(word)
            for word in words
        ]
    )


def _find_clues(word: str) -> Clues:
    padded = f" {word} "
    return frozenset(
        clue
        for start in range(len(padded))
        for size in range(1, BEGINNING + 1)
        for part, clue in _PARTS.get(padded[start : start + size], ())
        if padded.startswith(part, start)
    )


_cached_clues = lru_cache(maxsize=16_384)(_find_clues)


def _add_part(part: str, clue: str) -> None:
    _PARTS.setdefault(part[:BEGINNING], []).append((part, clue))
    # Cached results do not include the new part.
    _cached_clues.cache_clear()
    clues_of.cache_clear()


def _rarest_word(phrase: str) -> str:
    """The longest word, with a space at each boundary that lies inside the phrase."""
    first, *others = phrase.split(" ")
    if not others:
        return phrase
    between = [f" {word} " for word in others[:-1]]
    words = [f" {others[-1]}", *between, f"{first} "]
    return max(words, key=lambda word: len(word.strip()))
