"""A linear model of how similar a text is to labelled attempts.

The weights are trained on `tests/moderation/corpus` by `python -m tests.moderation.train`. The model
finds phrases that no rule covers, but its result is only a guess: see threads/policy.py.
"""

from collections.abc import Collection, Iterable, Mapping, Sized
from functools import cache, lru_cache
from itertools import repeat
from math import sqrt
from pathlib import Path

from detection.features import Families, Pieces, pieces_of

FILE = Path(__file__).with_name("weights.tsv")
# Thresholds: lower if another service is named, higher for short texts, which have little
# evidence, and for several messages read as one.
BAR, BAR_UNNAMED, BAR_JOINED, MORE_IF_SHORT = 0.35, 0.75, 0.85, 0.3
NAMED = frozenset(
    {
        *("messenger", "messenger_weak", "social", "number", "mailbox", "mailprovider", "search"),
        *("payservice", "payservice_weak", "account", "bankdetails", "transfer", "cash", "fee"),
        *("platform", "direct", "cancel", "button"),
    }
)
NEARLY = "any0.3"
# Below this a match of a rule is discarded; the limit is higher for texts with harmless features:
# the work, a scene, a refusal, reported speech.
HARMLESS, HARMLESS_THERE = -0.4, 0.2
HARMLESS_MEANINGS = frozenset(
    {"work", "scene", "refuses", "told", "safe", "record", "not", "book", "here"}
)
NOT_SHORT = "long5"
# Weight of each family, independent of how many features it has. Families that are not scaled by
# their number have few features, each of which is significant.
COUNTS = {"pieces": 1.0, "words": 1.0, "meanings": 0.7, "rules": 0.33, "shape": 0.16}
SCALED = frozenset({"pieces", "words", "meanings"})
# Weights are stored as integers of 1/STEPS, which are short and compress well.
STEPS = 50
BIAS = "bias"

Weights = dict[str, dict[str, int]]


@cache
def weights() -> Weights:
    """Weights by family, and those that distinguish the kinds of attempts."""
    known: Weights = {}
    for line in FILE.read_text(encoding="utf-8").splitlines():
        family, weight, *things = line.split("\t")
        known.setdefault(family, {}).update(zip(things, repeat(int(weight)), strict=False))
    return known


def margin(found: Families) -> float:
    """The score; above zero the text resembles an attempt."""
    known = weights()
    total: float = known[BIAS][BIAS]
    for family, things in found.items():
        held = _held(family, things)
        total += value_of(family, held) * sum(held)
    return total / STEPS


def _held(family: str, things: Collection[str]) -> Collection[int]:
    """The weights of the features present."""
    if not isinstance(things, Pieces):
        return [*map(weights()[family].get, things, repeat(0))]
    together: dict[str, int] = {}
    for word in things.words:
        together.update(_held_by_word(word))
    return together.values()


# Cached: words repeat.
@lru_cache(maxsize=8192)
def _held_by_word(word: str) -> dict[str, int]:
    known = weights()["pieces"]
    return {piece: known.get(piece, 0) for piece in pieces_of(word)}


def bar(found: Families) -> float:
    least = BAR if names_a_way(found) else BAR_UNNAMED
    return least if NOT_SHORT in found["shape"] else least + MORE_IF_SHORT


def names_a_way(found: Families) -> bool:
    return NEARLY in found["rules"] or not NAMED.isdisjoint(found["meanings"])


def harmless(found: Families) -> float:
    is_harmless = not HARMLESS_MEANINGS.isdisjoint(found["meanings"]) or "quotes" in found["shape"]
    return HARMLESS_THERE if is_harmless else HARMLESS


def value_of(family: str, things: Sized) -> float:
    many = sqrt(len(things)) if family in SCALED and things else 1.0
    return COUNTS[family] / many


def kind_of(found: Families, kinds: Iterable[str]) -> str:
    """The most similar kind of attempt."""
    things = decisive_features(found)
    known = weights()
    return max(kinds, key=lambda kind: known[kind][BIAS] + _sum(known[kind], things))


def decisive_features(found: Families) -> set[str]:
    """The features that distinguish kinds of attempts, which exclude word pieces."""
    return {*found["words"], *(f"={one}" for one in (*found["meanings"], *found["rules"]))}


def _sum(known: Mapping[str, int], things: set[str]) -> int:
    return sum(map(known.get, things, repeat(0)))
