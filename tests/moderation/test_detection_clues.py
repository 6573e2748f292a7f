"""A rule that looks only where it has a clue finds what it would have found everywhere."""

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
# What a text may have around a match.
AROUND = [" ", "\n", "\t", " ", "\n", "", "a", "1", ". ", "-", "(", "é"]
OF_A_CLASS = {"CATEGORY_WORD": "a7_é", "CATEGORY_SPACE": " \n\t", "CATEGORY_DIGIT": "07"}
ANYTHING = "a7_é .-@/\n"


@pytest.mark.parametrize("name", CLUED)
def test_whatever_a_pattern_can_match_has_a_clue_to_it(name):
    clued, chance = CLUED[name], random.Random(name)
    parsed = _parser.parse(clued.pattern)
    texts = [_around(_made(parsed, chance), chance) for _ in range(TEXTS)]
    matching = [text for text in texts if clued.compiled.search(text)]
    assert len(matching) > TEXTS / 20
    assert [text for text in matching if not clued.search(text)] == []


@pytest.mark.parametrize("name", PHRASES)
def test_a_phrase_is_found_wherever_it_stands(name):
    chance = random.Random(name)
    for phrase in PHRASES[name].phrases:
        for _ in range(30):
            assert phrase in PHRASES[name].found_in(_around(phrase, chance))


def test_an_ordinary_text_has_no_clue_to_anything():
    assert clues_of("the light in the garden is best before lunch, i think.") == frozenset()


def test_a_long_word_has_the_clues_of_its_parts():
    assert clues_of("x" * MAX_CACHED_CHARS + "@") == clues_of("@") != frozenset()


def _around(text: str, chance: random.Random) -> str:
    return chance.choice(AROUND) + text + chance.choice(AROUND)


def _made(parsed, chance: random.Random) -> str:
    """A text that the pattern matches, if what it says of its surroundings is true as well."""
    return "".join(_one(str(kind), what, chance) for kind, what in parsed)


def _one(kind: str, what, chance: random.Random) -> str:
    if kind == "LITERAL":
        return chr(what)
    if kind == "IN":
        return _of_a_set(what, chance)
    if kind == "BRANCH":
        [taken] = chance.choices(what[1], weights=map(_ways, what[1]))
        return _made(taken, chance)
    if kind == "SUBPATTERN":
        return _made(what[-1], chance)
    if kind == "MAX_REPEAT":
        least, most, repeated = what
        times = chance.randint(least, min(most, least + 3))
        return "".join(_made(repeated, chance) for _ in range(times))
    assert kind in ("ASSERT", "ASSERT_NOT", "AT"), kind
    return ""


@cache
def _ways(parsed) -> int:
    """How many alternatives there are inside: each is to have its turn."""
    parts = []
    for kind, what in parsed:
        if str(kind) == "BRANCH":
            parts += what[1]
        elif str(kind) in ("SUBPATTERN", "MAX_REPEAT"):
            parts.append(what[-1])
    return max(1, sum(map(_ways, parts)))


def _of_a_set(members, chance: random.Random) -> str:
    kind, what = chance.choice(members)
    if str(members[0][0]) == "NEGATE":
        return chance.choice(ANYTHING)
    if str(kind) == "RANGE":
        return chr(chance.randint(*what))
    return chr(what) if str(kind) == "LITERAL" else chance.choice(OF_A_CLASS[str(what)])
