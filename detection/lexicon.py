"""Reads the words and phrases in `detection/data`; docs/detector.md describes the format."""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

import ahocorasick
from django.conf import settings

from detection.normalise import fold, unleet

FOLDER = Path(__file__).with_name("data")
# Chinese, Japanese and Korean have no spaces between words, so entries match anywhere.
UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
# Sections that are not meanings.
TABLES = frozenset({"numbers", "host_out", "path_out", "hidden"})
NAMES = frozenset({"messenger", "social", "payservice", "mailprovider"})
SIGNS = {"say_at": "@", "say_dot": ".", "say_slash": "/", "say_dash": "-"}
SHORTEST_STEM, LONGEST_STEM = 2, 12
NOTHING: frozenset[str] = frozenset()

Meanings = dict[str, frozenset[str]]


class Lexicon(NamedTuple):
    words: Meanings
    # Beginnings of words.
    stems: Meanings
    phrases: ahocorasick.Automaton
    hidden: ahocorasick.Automaton
    # Words for numbers with their digits, and for the symbols in an address.
    numbers: dict[str, str]
    signs: dict[str, list[str]]
    hosts: tuple[str, ...]
    paths: tuple[str, ...]


def read_file(path: Path) -> Iterator[tuple[str, str]]:
    """The sections of a file, each with one of its entries."""
    lines = path.read_text(encoding="utf-8").splitlines()
    text = " ".join(line for line in lines if not line.startswith("#"))
    for section, entries in re.findall(r"\[(\w+)\]([^\[]*)", text):
        yield from ((section, one.strip()) for one in entries.split(",") if one.strip())


@cache
def lexicon() -> Lexicon:
    entries = [
        (section, fold(text))
        for path in sorted(FOLDER.glob("*.txt"))
        for section, text in read_file(path)
    ]
    entries += [("messenger", fold(word)) for word in settings.POLICY_WORDS]
    tables: dict[str, list[str]] = {}
    words, stems, phrases = Meanings(), Meanings(), Meanings()
    for section, text in entries:
        tables.setdefault(section, []).append(text)
        is_phrase = " " in text or "-" in text or UNSPACED.search(text)
        where = phrases if is_phrase else stems if text.endswith("*") else words
        if section not in TABLES:
            key = text if is_phrase else text.rstrip("*")
            where[key] = where.get(key, NOTHING) | {section}
    return Lexicon(
        words,
        stems,
        _automaton({text.rstrip("*"): (text, *found) for text, found in phrases.items()}),
        _automaton({one: one for name in tables["hidden"] for one in (name, name[::-1])}),
        dict(one.split("=") for one in tables["numbers"]),
        {sign: tables[name] for name, sign in SIGNS.items()},
        tuple(tables["host_out"]),
        tuple(tables["path_out"]),
    )


def _automaton(values: dict) -> ahocorasick.Automaton:
    automaton = ahocorasick.Automaton()
    for text, value in values.items():
        automaton.add_word(text, value)
    automaton.make_automaton()
    return automaton


@lru_cache(maxsize=16_384)
def meanings_of(word: str) -> frozenset[str]:
    known = lexicon()
    found = known.words.get(word, NOTHING)
    for length in range(SHORTEST_STEM, min(len(word), LONGEST_STEM) + 1):
        found |= known.stems.get(word[:length], NOTHING)
    if not found and "'" in word:
        return meanings_of(word.partition("'")[0])
    if not found and not word.isalpha() and any(map(str.isalpha, word)):
        return known.words.get(unleet(word), NOTHING)
    return found


def phrases_in(text: str) -> Iterator[tuple[int, str]]:
    """The positions and meanings of phrases; with spaces they start and end with a word."""
    for end, (phrase, *meanings) in lexicon().phrases.iter(text):
        start = end + 1 - len(phrase.rstrip("*"))
        if not UNSPACED.search(phrase):
            ends = phrase.endswith("*") or not text[end + 1 : end + 2].isalnum()
            if not ends or (start and text[start - 1].isalnum()):
                continue
        yield from ((start, meaning) for meaning in meanings)


def hidden_names(squeezed: str) -> set[str]:
    """Names of other services in a text without spaces, forwards or backwards."""
    return {name for _, name in lexicon().hidden.iter(squeezed)}
