"""A linear model of how similar a text is to labelled attempts.

The weights are trained on `tests/moderation/corpus` by `python -m tests.moderation.train`. The model
finds phrases that no rule covers, but then its result is only a guess: see threads/policy.py.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from itertools import combinations, pairwise, repeat
from math import sqrt
from pathlib import Path

from detection.lexicon import NAMES
from detection.normalise import DISGUISES, disguises_of, fold, unleet
from detection.numbers import NOT_DIGIT, find_runs, without_measures
from detection.reading import DIGIT, Reading, read_word, tokens_of

FILE = Path(__file__).with_name("weights.tsv")
# The share of each family; some are divided by the root of their number of features.
SHARES = {"pieces": 1.0, "words": 1.0, "meanings": 1.0, "rules": 0.66, "shape": 0.33}
SCALED = frozenset({"pieces", "words", "meanings"})
SHORTEST_PIECE, LONGEST_PIECE, MAX_WORD_CHARS = 2, 5, 30
# Meanings at most this many words apart are a pair.
REACH = 5
SCORE_STEPS = (0.3, 0.5, 0.7, 0.9, 1.0, 1.2)
LENGTHS = (3, 5, 8, 15, 30)
PUNCTUATION = ".,;:!?()[]{}<>\"'«»“”„…*_-–—/|~「」『』"
# Words and numbers that are never cleared unread, and their suspicion.
SURE, MUCH = frozenset({"#at", "#number", *NAMES, *DISGUISES}), 10_000
LONG_NUMBER = re.compile(r"\d(?:[^a-zA-Z\d\n]{0,3}\d){6}")
# Weights are stored as integers of 1/STEPS, which are short and compress well.
STEPS = 50
BIAS, SCREEN = "bias", "screen"

Scores = Mapping[str, float]


@cache
def weights() -> dict[str, dict[str, int]]:
    """Weights by family, and those that distinguish the kinds of attempts."""
    known: dict[str, dict[str, int]] = {}
    for line in FILE.read_text(encoding="utf-8").splitlines():
        family, weight, *names = line.split("\t")
        known.setdefault(family, {}).update(zip(names, repeat(int(weight)), strict=False))
    return known


# Cached: words repeat.
@lru_cache(maxsize=16_384)
def _suspicion(word: str) -> int:
    features = screen_features(word)
    if not SURE.isdisjoint(features):
        return MUCH
    return sum(map(weights()[SCREEN].get, features, repeat(0)))


def suspicion(text: str) -> int:
    """How suspicious the words of a text are, each on its own, and whether it has a long number."""
    return sum(map(_suspicion, text.split())) + MUCH * (LONG_NUMBER.search(text) is not None)


def is_suspicious(suspicion: int) -> bool:
    """Whether a text has to be read: most texts are cleared by this alone."""
    return suspicion >= weights()[SCREEN][BIAS]


def screen_features(word: str) -> list[str]:
    folded = fold(word)
    tokens = tokens_of(folded)
    found = [name for token in tokens for name in read_word(token).meanings]
    found += [f"={_bare(token)}" for token in tokens] + disguises_of(word)
    return found + ["single"] * (len(folded) == 1) + ["long"] * (len(folded) > MAX_WORD_CHARS)


def margin(reading: Reading, scores: Scores) -> float:
    """The score; above zero the text resembles an attempt."""
    known = weights()
    pieces = [_weigh_pieces(DIGIT.sub("0", token)) for token in {*reading.tokens}]
    total = known[BIAS][BIAS] + sum(weight for weight, _ in pieces) * value_of(
        "pieces", sum(count for _, count in pieces)
    )
    for family, names in features_of(reading, scores):
        total += sum(map(known[family].get, names, repeat(0))) * value_of(family, len(names))
    return total / STEPS


def value_of(family: str, count: int) -> float:
    return SHARES[family] / (sqrt(count) if family in SCALED and count else 1.0)


# Cached: words repeat.
@lru_cache(maxsize=32_768)
def _weigh_pieces(token: str) -> tuple[int, int]:
    pieces = pieces_of(token)
    return sum(map(weights()["pieces"].get, pieces, repeat(0))), len(pieces)


def pieces_of(token: str) -> frozenset[str]:
    padded = f" {token} "
    return frozenset(
        padded[start : start + size]
        for size in range(SHORTEST_PIECE, LONGEST_PIECE + 1)
        for start in range(max(1, len(padded) - size + 1))
    )


def features_of(reading: Reading, scores: Scores) -> Iterator[tuple[str, Collection[str]]]:
    """The names of all features except pieces of words, by family."""
    yield "words", _words(reading)
    yield "meanings", _meanings(reading)
    yield "rules", _rules(scores)
    yield "shape", _shape(reading)


@lru_cache(maxsize=32_768)
def _bare(token: str) -> str:
    return DIGIT.sub("0", token).strip(PUNCTUATION)[:MAX_WORD_CHARS]


def _words(reading: Reading) -> set[str]:
    bare = [*filter(None, map(_bare, reading.tokens))]
    found = {*bare, *map(" ".join, pairwise(bare)), f"^{bare[0] if bare else ''}"}
    if "mixed" in reading.gates:
        found.update(unleet(token) for token in reading.tokens if DIGIT.search(token))
    return found


def _meanings(reading: Reading) -> set[str]:
    """Meanings, those that follow each other closely, and those that occur together."""
    sequence = reading.sequence
    found = {*reading.places, *map("&".join, combinations(sorted(reading.places), 2))}
    for index, (at, meanings) in enumerate(sequence):
        for then, others in sequence[index + 1 : index + 1 + REACH]:
            if then - at > REACH:
                break
            found.update([f"{one}>{other}" for one in meanings for other in others])
    return found


def _rules(scores: Scores) -> list[str]:
    highest = max(scores.values(), default=0.0)
    named = (*scores.items(), ("any", highest))
    return [f"{name}{step}" for name, score in named for step in SCORE_STEPS if score >= step]


def _shape(reading: Reading) -> set[str]:
    found = {*reading.gates, *(f"long{one}" for one in LENGTHS if len(reading.tokens) >= one)}
    if "digits" in reading.gates:
        groups = NOT_DIGIT.split(without_measures(reading.folded))
        found.update(f"group{min(len(group), 8)}" for group in groups)
        found.update(f"run{min(len(run.digits), 14)}" for run in find_runs(reading.folded))
    return found


def kind_of(reading: Reading, scores: Scores, kinds: Iterable[str]) -> str:
    """The most similar kind of attempt."""
    known, names = weights(), decisive_features(reading, scores)
    return max(
        kinds, key=lambda kind: known[kind][BIAS] + sum(map(known[kind].get, names, repeat(0)))
    )


def decisive_features(reading: Reading, scores: Scores) -> set[str]:
    """The features that distinguish kinds of attempts."""
    return {*_rules(scores), *reading.places, *(f"={_bare(token)}" for token in reading.tokens)}
