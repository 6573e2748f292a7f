"""Words and turns of phrase that matter, by what they mean: read from `data/`, where they are folded
on the way in. A star stands for any ending. Settings can add to the messengers."""

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from moderation.detection.folding import fold

DATA = Path(__file__).parent / "data"
WORDS = DATA / "words"
# Languages that share words: what rules go by was chosen so that none of it is harmless in another.
ANY = "any"
# Written without spaces: there a word is looked for anywhere.
DENSE = "dense"
# Alphabets of their own, whose words cannot be mistaken for another language's.
DISTINCT = {"ar", "hi", "ru"}
# Of the rest only the model hears: it has learnt how far each can be trusted.
FOR_THE_MODEL = "~"
# From this length on those may have any ending.
STEM = 5

Meanings = dict[str, frozenset[str]]


def index(extra: Iterable[str] = ()) -> tuple[Meanings, Meanings]:
    """Whole words, and beginnings of words, each with what it means."""
    words: dict[str, set[str]] = {}
    stems: dict[str, set[str]] = {}
    for name in sorted(file.stem for file in WORDS.glob("*.txt") if file.stem != DENSE):
        mark = "" if name == ANY or name in DISTINCT else FOR_THE_MODEL
        for meaning, listed in _lines(WORDS / f"{name}.txt"):
            for word in listed.split():
                is_stem = word.endswith("*") or (mark and len(word) >= STEM)
                place = stems if is_stem else words
                place.setdefault(fold(word.rstrip("*")), set()).add(mark + meaning)
    for word in extra:
        words.setdefault(fold(word), set()).add("messenger")
    return _frozen(words), _frozen(stems)


@cache
def dense() -> dict[str, tuple[str, ...]]:
    """For each meaning the parts of text that have it, where nothing stands between words."""
    return {
        meaning: tuple(fold(part) for part in listed.split())
        for meaning, listed in _lines(WORDS / f"{DENSE}.txt")
    }


@cache
def turns(kind: str) -> tuple[str, ...]:
    """Turns of phrase of one kind: a line each, under the name of the kind in brackets."""
    text = (DATA / "turns.txt").read_text(encoding="utf-8")
    section = text.partition(f"[{kind}]\n")[2].partition("\n\n")[0]
    return tuple(section.splitlines())


@cache
def digits() -> dict[str, str]:
    """What a word says in digits."""
    return {
        fold(word): said for said, listed in _lines(DATA / "digits.txt") for word in listed.split()
    }


def _lines(file: Path) -> Iterator[tuple[str, str]]:
    for line in file.read_text(encoding="utf-8").splitlines():
        name, _, rest = line.partition(":")
        yield name, rest


def _frozen(found: dict[str, set[str]]) -> Meanings:
    return {word: frozenset(meanings) for word, meanings in found.items()}
