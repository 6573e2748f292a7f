"""The labelled examples are well-formed and balanced, and training and held-out texts do not
overlap.

Failures name ids, never texts, so that a failed run does not show the held-out half.
"""

import re
import unicodedata
from collections import Counter

import pytest

from tests.moderation import labelled
from tests.moderation.labelled import (
    CIRCUMVENTION,
    DEVELOPMENT,
    HARMLESS,
    HELD_OUT,
    KEPT_APART,
    OPEN,
    Example,
)

HALVES = {name: labelled.read(name) for name in (OPEN, KEPT_APART)}
BALANCED = {**HALVES, HELD_OUT: labelled.read(HELD_OUT)}
FILES = {**BALANCED, DEVELOPMENT: labelled.read(DEVELOPMENT)}
ALL_EXAMPLES = [example for file in FILES.values() for example in file]
PREFIX = {OPEN: "open", KEPT_APART: "kept", HELD_OUT: "held", DEVELOPMENT: "dev"}

FIRST_SIX = {"en", "de", "es", "fr", "pt", "it"}
LANGUAGES = FIRST_SIX | {"nl", "pl", "tr", "ja", "ar"}
# Languages that the first two files do not have.
MORE_LANGUAGES = LANGUAGES | {"zh", "ko"}
LANGUAGES_OF = {
    OPEN: LANGUAGES,
    KEPT_APART: LANGUAGES,
    HELD_OUT: MORE_LANGUAGES,
    DEVELOPMENT: MORE_LANGUAGES,
}
KINDS = {
    CIRCUMVENTION: {"phone", "email", "handle", "payment", "link", "phrase"},
    HARMLESS: {"lookalike", "plain"},
}
DISGUISES = {
    "at_dot", "emoji", "fullwidth", "hint", "homoglyph", "invisible", "leet", "mixed",
    "reversed", "spacing", "split", "words",
}  # fmt: skip
MAX_MESSAGE_LENGTH = 8000
# Two texts that share more than this part of their words count as duplicates.
MAX_WORD_OVERLAP = 0.6

each_half = pytest.mark.parametrize("half", BALANCED.values(), ids=BALANCED)


def share(part: int, of: int) -> float:
    return part / of


def ids(examples: list[Example]) -> list[str]:
    return [each.id for each in examples]


@each_half
def test_a_half_is_large_enough(half):
    assert len(half) >= 240


@pytest.mark.parametrize("name", FILES)
def test_ids_consist_of_file_name_and_line_number(name):
    assert ids(FILES[name]) == [f"{PREFIX[name]}-{n:03}" for n in range(1, len(FILES[name]) + 1)]


def test_labels_kinds_and_disguises_are_those_of_the_readme():
    wrong = [
        each
        for name, file in FILES.items()
        for each in file
        if each.language not in LANGUAGES_OF[name]
        or each.kind not in KINDS.get(each.label, ())
        or each.disguise not in {None, *DISGUISES}
    ]
    assert ids(wrong) == []


def test_every_message_could_be_sent():
    wrong = [
        each
        for each in ALL_EXAMPLES
        if not 1 <= len(each.messages) <= 4
        or any(not 0 < len(text.strip()) <= MAX_MESSAGE_LENGTH for text in each.messages)
    ]
    assert ids(wrong) == []


def test_only_an_attempt_is_disguised_and_only_a_split_one_has_several_messages():
    wrong = [
        each
        for each in ALL_EXAMPLES
        if (not each.is_circumvention and each.disguise)
        or (each.is_circumvention and (len(each.messages) > 1) != (each.disguise == "split"))
    ]
    assert ids(wrong) == []


@each_half
def test_attempts_and_harmless_examples_are_balanced(half):
    assert 0.43 <= share(sum(each.is_circumvention for each in half), len(half)) <= 0.47


@each_half
def test_most_harmless_examples_resemble_attempts(half):
    kinds = Counter(each.kind for each in half if not each.is_circumvention)
    assert share(kinds["lookalike"], kinds.total()) >= 0.7


@each_half
def test_every_kind_has_several_examples(half):
    kinds = Counter(each.kind for each in half)
    assert all(kinds[kind] >= 8 for kind in KINDS[CIRCUMVENTION] | KINDS[HARMLESS])


@each_half
def test_many_attempts_are_disguised_in_many_ways(half):
    disguises = [each.disguise for each in half if each.is_circumvention]
    hidden = Counter(disguise for disguise in disguises if disguise)
    assert share(hidden.total(), len(disguises)) >= 0.4
    assert len(hidden) >= 10


@each_half
def test_harmless_examples_have_several_messages_too(half):
    several = Counter(each.label for each in half if len(each.messages) > 1)
    assert min(several[CIRCUMVENTION], several[HARMLESS]) >= 8


@pytest.mark.parametrize("name", BALANCED)
def test_every_language_has_both_labels_and_six_have_most_examples(name):
    half = BALANCED[name]
    assert {(each.language, each.label) for each in half} == {
        (language, label) for language in LANGUAGES_OF[name] for label in KINDS
    }
    first = sum(each.language in FIRST_SIX for each in half)
    assert 0.8 <= share(first, len(half)) <= 0.95
    assert share(sum(each.language == "en" for each in half), len(half)) <= 0.45


def test_both_halves_have_the_same_composition():
    for trait in ("label", "language", "kind"):
        one, other = (Counter(getattr(each, trait) for each in half) for half in HALVES.values())
        different = {
            value
            for value in one | other
            if abs(share(one[value], one.total()) - share(other[value], other.total())) > 0.04
        }
        assert different == set()


def test_no_text_occurs_twice():
    seen = Counter(_bare(each.text) for each in ALL_EXAMPLES)
    assert ids([each for each in ALL_EXAMPLES if seen[_bare(each.text)] > 1]) == []


@pytest.mark.parametrize("held_out", [KEPT_APART, HELD_OUT])
@pytest.mark.parametrize("name", [OPEN, DEVELOPMENT])
def test_no_text_resembles_a_held_out_text(name, held_out):
    words = {each.id: set(_bare(each.text).split()) for each in ALL_EXAMPLES}
    duplicates = [
        (one.id, other.id)
        for one in FILES[name]
        for other in FILES[held_out]
        if _overlap(words[one.id], words[other.id]) > MAX_WORD_OVERLAP
    ]
    assert duplicates == []


def test_disguises_that_an_editor_could_remove_are_still_in_the_file():
    signs = {"homoglyph": _mixes_alphabets, "invisible": _hides, "fullwidth": _normalises_to_ascii}
    lost = [each for each in ALL_EXAMPLES if not signs.get(each.disguise, bool)(each.text)]
    assert ids(lost) == []


def _bare(text: str) -> str:
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()))


def _overlap(one: set[str], other: set[str]) -> float:
    return len(one & other) / max(len(one | other), 1)


def _mixes_alphabets(text: str) -> bool:
    return any(
        {"LATIN"} < {unicodedata.name(letter).split()[0] for letter in word if letter.isalpha()}
        for word in text.split()
    )


def _hides(text: str) -> bool:
    return any(unicodedata.category(character) == "Cf" for character in text)


def _normalises_to_ascii(text: str) -> bool:
    normalised = (unicodedata.normalize("NFKC", each) for each in text if not each.isascii())
    return any(each.isascii() and each.isalnum() for each in normalised)
