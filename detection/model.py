"""How much a text is like those that were labelled as attempts: a weight for each thing that it
has, learned from `tests/moderation/corpus` by `python -m tests.moderation.train`.

It knows turns of phrase that no rule names. It is never sure: see threads/policy.py.
"""

from collections.abc import Collection, Iterable, Mapping, Sized
from functools import cache, lru_cache
from itertools import repeat
from math import sqrt
from pathlib import Path

from detection.features import Families, Pieces, pieces_of

FILE = Path(__file__).with_name("weights.tsv")
# From where on it is said: sooner where something is named that one can leave by. Short lines say
# little, so more is asked of them, and of several messages that are read as one.
BAR, BAR_UNNAMED, BAR_JOINED, MORE_IF_SHORT = 0.35, 0.75, 0.85, 0.3
NAMED = frozenset(
    {
        *("messenger", "messenger_weak", "social", "number", "mailbox", "mailprovider", "search"),
        *("payservice", "payservice_weak", "account", "bankdetails", "transfer", "cash", "fee"),
        *("platform", "direct", "cancel", "button"),
    }
)
NEARLY = "any0.3"
# Below this a rule is taken to be wrong, the sooner if the text has what a harmless one would have:
# the work, a scene, a refusal, what somebody else said.
HARMLESS, HARMLESS_THERE = -0.4, 0.2
THERE = frozenset({"work", "scene", "refuses", "told", "safe", "record", "not", "book", "here"})
NOT_SHORT = "long5"
# How much each family counts, whatever the number of things in it. What is not scaled to its number
# has few things, each of which says something.
COUNTS = {"pieces": 1.0, "words": 1.0, "meanings": 0.7, "rules": 0.33, "shape": 0.16}
SCALED = frozenset({"pieces", "words", "meanings"})
# Of a weight of one, as it is stored: whole numbers are small, and many are the same.
STEPS = 50
BIAS = "bias"

Weights = dict[str, dict[str, int]]


@cache
def weights() -> Weights:
    """By family, and for each kind of attempt what tells it from the others."""
    known: Weights = {}
    for line in FILE.read_text(encoding="utf-8").splitlines():
        family, weight, *things = line.split("\t")
        known.setdefault(family, {}).update(zip(things, repeat(int(weight)), strict=False))
    return known


def margin(found: Families) -> float:
    """Above zero: more like an attempt than not."""
    known = weights()
    total: float = known[BIAS][BIAS]
    for family, things in found.items():
        held = _held(family, things)
        total += value_of(family, held) * sum(held)
    return total / STEPS


def _held(family: str, things: Collection[str]) -> Collection[int]:
    """The weight of each."""
    if not isinstance(things, Pieces):
        return [*map(weights()[family].get, things, repeat(0))]
    together: dict[str, int] = {}
    for word in things.words:
        together.update(_held_by_word(word))
    return together.values()


# People use the same words again and again.
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
    there = not THERE.isdisjoint(found["meanings"]) or "quotes" in found["shape"]
    return HARMLESS_THERE if there else HARMLESS


def value_of(family: str, things: Sized) -> float:
    many = sqrt(len(things)) if family in SCALED and things else 1.0
    return COUNTS[family] / many


def kind_of(found: Families, kinds: Iterable[str]) -> str:
    """What kind of attempt it is most like, if it is one."""
    things = decisive_features(found)
    known = weights()
    return max(kinds, key=lambda kind: known[kind][BIAS] + _sum(known[kind], things))


def decisive_features(found: Families) -> set[str]:
    """What tells one kind of attempt from another: no pieces of words are needed for that."""
    return {*found["words"], *(f"={one}" for one in (*found["meanings"], *found["rules"]))}


def _sum(known: Mapping[str, int], things: set[str]) -> int:
    return sum(map(known.get, things, repeat(0)))
