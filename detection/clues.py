"""What a text could say at all, told from its words one by one, so that a rule looks only where it
may find something. What a word is a clue to is worked out once: people use the same ones again."""

import re
from collections.abc import Iterable
from functools import lru_cache

Clues = frozenset[str]
NONE: Clues = frozenset()
# Longer words are not said twice.
MAX_CACHED_CHARS = 40
BEGINNING = 3
# Parts of words, by how they begin, each with what it is a clue to.
_PARTS: dict[str, list[tuple[str, str]]] = {}


class Clued:
    """A pattern, and parts of words of which each of its matches has one: without any it is not
    looked for. A blank in a part is where a word begins or ends."""

    def __init__(self, pattern: str, *parts: str) -> None:
        self.pattern = pattern
        self.compiled = re.compile(pattern)
        for part in parts:
            _look_out(part, pattern)

    def search(self, text: str) -> re.Match[str] | None:
        return self.compiled.search(text) if self.pattern in clues_of(text) else None


class Phrases:
    """Many phrases at once: each is looked for only where its rarest word is there."""

    def __init__(self, phrases: Iterable[str]) -> None:
        self.phrases = frozenset(phrases)
        for phrase in self.phrases:
            _look_out(_rarest_word(phrase), phrase)

    def found_in(self, text: str) -> list[str]:
        return [phrase for phrase in self.phrases & clues_of(text) if phrase in text]


# Several rules ask for those of the same text and of its sentences.
@lru_cache(maxsize=64)
def clues_of(text: str) -> Clues:
    words = text.split()
    return NONE.union(
        *[_kept(word) if len(word) <= MAX_CACHED_CHARS else _looked_up(word) for word in words]
    )


def _looked_up(word: str) -> Clues:
    padded = f" {word} "
    return frozenset(
        clue
        for start in range(len(padded))
        for size in range(1, BEGINNING + 1)
        for part, clue in _PARTS.get(padded[start : start + size], ())
        if padded.startswith(part, start)
    )


_kept = lru_cache(maxsize=16_384)(_looked_up)


def _look_out(part: str, clue: str) -> None:
    _PARTS.setdefault(part[:BEGINNING], []).append((part, clue))
    # What was worked out before did not know of it.
    _kept.cache_clear()
    clues_of.cache_clear()


def _rarest_word(phrase: str) -> str:
    """The longest, with a blank where it begins or ends inside the phrase, as in the text then."""
    first, *others = phrase.split(" ")
    if not others:
        return phrase
    between = [f" {word} " for word in others[:-1]]
    words = [f" {others[-1]}", *between, f"{first} "]
    return max(words, key=lambda word: len(word.strip()))
