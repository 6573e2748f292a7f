"""A rule that only searches texts with a clue finds everything that its pattern matches."""

import random
from functools import cache
from re import _parser

import pytest

from detection import addresses, detector, words
from detection.clues import MAX_CACHED_CHARS, Clued, Phrases, clues_of

NAMES = [
    (name, thing)
    for module in (addresses, detector, words)
    for name, thing in sorted(vars(module).items())
]
CLUED = {name: thing for name, thing in NAMES if isinstance(thing, Clued)}
PHRASES = {name: thing for name, thing in NAMES if isinstance(thing, Phrases)}
TEXTS = 1500
# Text that may surround a match.
AROUND = [" ", "\n", "\t", " ", "\n", "", "a", "1", ". ", "-", "(", "é"]
CLASS_CHARACTERS = {"CATEGORY_WORD": "a7_é", "CATEGORY_SPACE": " \n\t", "CATEGORY_DIGIT": "07"}
ANY_CHARACTER = "a7_é .-@/\n"


@pytest.mark.parametrize("name", CLUED)
def test_every_match_of_a_pattern_has_a_clue(name):
    clued, rng = CLUED[name], random.Random(name)
    parsed = _parser.parse(clued.pattern)
    texts = [_around(_generate(parsed, rng), rng) for _ in range(TEXTS)]
    matching = [text for text in texts if clued.compiled.search(text)]
    assert len(matching) > TEXTS / 20
    assert [text for text in matching if not clued.search(text)] == []


@pytest.mark.parametrize("name", PHRASES)
def test_a_phrase_is_found_in_any_surroundings(name):
    rng = random.Random(name)
    for phrase in PHRASES[name].phrases:
        for _ in range(30):
            assert phrase in PHRASES[name].found_in(_around(phrase, rng))


def test_an_ordinary_text_has_no_clues():
    assert clues_of("the light in the garden is best before lunch, i think.") == frozenset()


def test_a_long_word_has_the_clues_of_its_parts():
    assert clues_of("x" * MAX_CACHED_CHARS + "@") == clues_of("@") != frozenset()


def _around(text: str, rng: random.Random) -> str:
    return rng.choice(AROUND) + text + rng.choice(AROUND)


def _generate(parsed, rng: random.Random) -> str:
    """Generates a text that the pattern matches, except for its lookarounds."""
    return "".join(_generate_part(str(kind), what, rng) for kind, what in parsed)


def _generate_part(kind: str, what, rng: random.Random) -> str:
    if kind == "LITERAL":
        return chr(what)
    if kind == "IN":
        return _generate_from_set(what, rng)
    if kind == "BRANCH":
        [taken] = rng.choices(what[1], weights=map(_count_alternatives, what[1]))
        return _generate(taken, rng)
    if kind == "SUBPATTERN":
        return _generate(what[-1], rng)
    if kind == "MAX_REPEAT":
        least, most, repeated = what
        times = rng.randint(least, min(most, least + 3))
        return "".join(_generate(repeated, rng) for _ in range(times))
    assert kind in ("ASSERT", "ASSERT_NOT", "AT"), kind
    return ""


@cache
def _count_alternatives(parsed) -> int:
    """Counts the alternatives of a pattern, so that each is generated."""
    parts = []
    for kind, what in parsed:
        if str(kind) == "BRANCH":
            parts += what[1]
        elif str(kind) in ("SUBPATTERN", "MAX_REPEAT"):
            parts.append(what[-1])
    return max(1, sum(map(_count_alternatives, parts)))


def _generate_from_set(members, rng: random.Random) -> str:
    kind, what = rng.choice(members)
    if str(members[0][0]) == "NEGATE":
        return rng.choice(ANY_CHARACTER)
    if str(kind) == "RANGE":
        return chr(rng.randint(*what))
    return chr(what) if str(kind) == "LITERAL" else rng.choice(CLASS_CHARACTERS[str(what)])
