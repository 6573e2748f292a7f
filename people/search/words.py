"""The words of a profile, and of a query, as the directory compares them."""

import unicodedata
from collections.abc import Iterable, Iterator

from core.normalise import normalise
from people.models.directory import MAX_WORD_BYTES

MAX_PROFILE_WORDS = 100
MAX_QUERY_WORDS = 4
MAX_QUERY_CHARS = 80
MIN_WORD_CHARS = 2
# The longest run of letters without spaces of which every ending is indexed.
MAX_RUN_CHARS = 12


def list_profile_words(texts: Iterable[str]) -> list[str]:
    """Distinct words of these texts, the most important text first."""
    words = (part for text in texts for word in split_words(text) for part in _endings(word))
    return list(dict.fromkeys(words))[:MAX_PROFILE_WORDS]


def list_query_words(text: str) -> list[str]:
    words = (word for word in split_words(text[:MAX_QUERY_CHARS]) if _is_searchable(word))
    return list(dict.fromkeys(words))[:MAX_QUERY_WORDS]


def split_words(text: str) -> list[str]:
    normalised = normalise(text)
    return "".join(letter if _is_part_of_word(letter) else " " for letter in normalised).split()


def _is_part_of_word(letter: str) -> bool:
    """Letters, digits, and the vowel signs that Indic scripts write as letters of their own."""
    return letter.isalnum() or unicodedata.category(letter)[0] == "M"


def encode_word(word: str) -> bytes:
    """As it is stored. A long word is cut between two letters."""
    return word.encode()[:MAX_WORD_BYTES].decode(errors="ignore").encode()


def _is_searchable(word: str) -> bool:
    return len(word) >= MIN_WORD_CHARS or not word.isascii()


def _endings(word: str) -> Iterator[str]:
    """The word, and all its endings if it is in a script that writes no spaces."""
    if not _is_searchable(word):
        return
    yield word
    if any(_is_unspaced(letter) for letter in word):
        yield from (word[start : start + MAX_RUN_CHARS] for start in range(1, len(word)))


def _is_unspaced(letter: str) -> bool:
    """Kana, Chinese characters and Thai."""
    return "\u3040" <= letter <= "\u9fff" or "\u0e00" <= letter <= "\u0e7f"
