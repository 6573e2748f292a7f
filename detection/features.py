"""What the model looks at in a text: pieces of words, words, what words mean and what stands near
what, how nearly the rules found something, and shape. Each family counts by itself."""

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from itertools import pairwise

from detection.normalise import unleet
from detection.numbers import find_raw, find_spelled, without_measures
from detection.words import Sentence

DIGIT = re.compile(r"\d")
QUOTED = re.compile(r"[\"«»“”„「『]|(?<!\w)'\w[^']{2,60}'(?!\w)")
DIGITS = re.compile(r"\d+")
TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|[@#$:/?!+&%()]")
LONG_NUMBER = re.compile("0{5,}")
LEETED = re.compile(r"(?<![^\W_])(?=\d*[a-z])(?=[a-z]*\d)[a-z\d]{3,20}(?![^\W_])")
SHORTEST, LONGEST = 2, 5
MAX_WORD_CHARS = 30
REACH = 5
NEARLY = (0.3, 0.5, 0.7, 0.9, 1.0, 1.2)
LENGTHS = (3, 5, 8, 15, 30)
# Of a longer text, its beginning and its end: what it costs must not grow with what is written.
MAX_FEATURES = 1500


class Pieces(Collection[str]):
    """Those of some words, put together only for whom the words by themselves are not enough."""

    def __init__(self, words: set[str]) -> None:
        self.words = words

    @cached_property
    def together(self) -> set[str]:
        return set().union(*map(pieces_of, self.words))

    def __contains__(self, piece: object) -> bool:
        return piece in self.together

    def __iter__(self) -> Iterator[str]:
        return iter(self.together)

    def __len__(self) -> int:
        return len(self.together)


Families = dict[str, Collection[str]]


def features_of(plain: str, spoken: list[Sentence], scores: Mapping[str, float]) -> Families:
    if len(plain) > 2 * MAX_FEATURES:
        plain = f"{plain[:MAX_FEATURES]} {plain[-MAX_FEATURES:]}"
    has_digits = DIGIT.search(plain) is not None
    zeroed = DIGIT.sub("0", plain) if has_digits else plain
    tokens = TOKEN.findall(zeroed)
    if has_digits:
        tokens = [LONG_NUMBER.sub("00000", token) for token in tokens]
    return {
        "pieces": Pieces({word[:MAX_WORD_CHARS] for word in zeroed.split()}),
        "words": _words(tokens).union(map(unleet, LEETED.findall(plain)) if has_digits else ()),
        "meanings": set(_meanings(spoken)),
        "rules": set(_rules(scores)),
        "shape": set(_shape(plain, len(tokens))),
    }


def pieces_of(word: str) -> frozenset[str]:
    padded = f" {word} "
    return frozenset(
        padded[start : start + size]
        for size in range(SHORTEST, LONGEST + 1)
        for start in range(max(1, len(padded) - size + 1))
    )


def _words(tokens: list[str]) -> set[str]:
    words = set(tokens)
    words.update(map(" ".join, pairwise(tokens)))
    if tokens:
        words.add(f"^{tokens[0]}")
    return words


def _meanings(spoken: list[Sentence]) -> Iterator[str]:
    there: set[str] = set()
    followed: set[tuple[str, str]] = set()
    for sentence in spoken:
        there.update(sentence.places)
        followed.update(_followed(sentence))
        if sentence.refuses:
            yield "refuses"
    yield from (f"{one}>{other}" for one, other in followed)
    ordered = sorted(there)
    yield from ordered
    for at, one in enumerate(ordered):
        for other in ordered[at + 1 :]:
            yield f"{one}&{other}"


def _followed(sentence: Sentence) -> Iterator[tuple[str, str]]:
    """Meanings of which one stands at most REACH words after the other, each pair once."""
    for one in sentence.places:
        for other in sentence.places:
            if sentence.follows(one, other, REACH):
                yield one, other


def _rules(scores: Mapping[str, float]) -> Iterator[str]:
    for reason, score in scores.items():
        for step in NEARLY:
            if score >= step:
                yield f"{reason}{step}"
                yield f"any{step}"


def _shape(plain: str, length: int) -> Iterator[str]:
    for least in LENGTHS:
        if length >= least:
            yield f"long{least}"
    if "?" in plain:
        yield "asks"
    if QUOTED.search(plain):
        yield "quotes"
    for run in find_raw(plain):
        yield f"run{min(len(run.digits), 14)}"
        if run.apart:
            yield "apart"
    for run in find_spelled(plain):
        yield f"spelled{min(len(run.digits), 12)}"
    if DIGIT.search(plain):
        for group in DIGITS.findall(without_measures(plain)):
            yield f"group{min(len(group), 8)}"
