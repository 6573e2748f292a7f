"""Learn the weights of the detector's model: `python -m tests.moderation.train`. With `--check`:
whether those in the repository are what the labelled texts make. With `--try`: how good it is on
texts that it did not learn from. The half that is kept apart is not read here.

Plain Python, a fixed seed and whole numbers, so that every machine makes the same file.
"""

import argparse
import os
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from operator import itemgetter

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
# How much a text on the wrong side counts against simple weights; rounds over all of them.
SLACK, ROUNDS, SEED = 1.5, 20, 8
# What fewer texts have says nothing.
FEWEST = 3
# Smaller ones, in steps, change nothing that one could see.
FAINT = 2
FOLDS = 5

Things = dict[str, set[str]]
Known = dict[tuple[str, str], int]


@dataclass
class Lesson:
    """One text: which weights it asks, by family, and how much each counts there."""

    parts: list[tuple[float, itemgetter, list[int]]]
    sign: int
    alpha: float = 0.0

    def margin(self, weights: list[float]) -> float:
        return sum(value * sum(pick(weights)) for value, pick, _ in self.parts)

    def move(self, weights: list[float], step: float) -> None:
        for value, _, places in self.parts:
            by = step * value
            for place in places:
                weights[place] += by

    @property
    def size(self) -> float:
        return sum(value * value * len(places) for value, _, places in self.parts)


def lesson(seen: Things, known: Known, sign: int, value_of) -> Lesson:
    # The last weight is always nothing: a getter of one thing would not give a row of them.
    parts = [(1.0, itemgetter(0, -1), [0])]
    for family, things in seen.items():
        places = sorted(known[family, thing] for thing in things if (family, thing) in known)
        if places:
            parts.append((value_of(family, things), itemgetter(*places, -1), places))
    return Lesson(parts, sign)


def learn(lessons: Sequence[Lesson], size: int) -> list[float]:
    """A support vector machine with squared slack, by coordinate descent in its dual."""
    weights = [0.0] * (size + 2)
    softness = 1 / (2 * SLACK)
    steep = [(one, one.size + softness) for one in lessons]
    order = random.Random(SEED)
    for _ in range(ROUNDS):
        order.shuffle(steep)
        for one, size_of in steep:
            slope = one.sign * one.margin(weights) - 1 + one.alpha * softness
            alpha = max(0.0, one.alpha - slope / size_of)
            if alpha != one.alpha:
                one.move(weights, (alpha - one.alpha) * one.sign)
                one.alpha = alpha
    return weights


def vocabulary(seen: Iterable[Things]) -> Known:
    counts = Counter((family, thing) for one in seen for family in one for thing in one[family])
    known = sorted(thing for thing, count in counts.items() if count >= FEWEST)
    return {thing: place for place, thing in enumerate(known, start=1)}


def fit(seen: Sequence[Things], signs: Sequence[int], value_of) -> tuple[Known, list[float]]:
    known = vocabulary(seen)
    lessons = [lesson(one, known, sign, value_of) for one, sign in zip(seen, signs, strict=True)]
    return known, learn(lessons, len(known))


def rows_of(
    known: Known, weights: list[float], family: str = ""
) -> dict[tuple[str, int], list[str]]:
    """Whole numbers; those that are nothing are left out."""
    from detection.model import BIAS, STEPS

    rows = defaultdict(list)
    rows[family or BIAS, round(STEPS * weights[0])].append(BIAS)
    for (of, thing), place in known.items():
        weight = round(STEPS * weights[place])
        if abs(weight) >= FAINT:
            rows[family or of, weight].append(thing)
    return rows


def make() -> str:
    """The file of weights."""
    from detection.detector import REASONS
    from detection.model import decisive_features, value_of

    examples = lessons_of()
    seen = [see(one) for one in examples]
    rows = rows_of(*fit(seen, [1 if one.is_circumvention else -1 for one in examples], value_of))
    attempts = [
        (one, thing) for one, thing in zip(examples, seen, strict=True) if one.is_circumvention
    ]
    told = [{"told": decisive_features(thing)} for _, thing in attempts]
    for kind in REASONS:
        signs = [1 if one.kind == kind else -1 for one, _ in attempts]
        rows |= rows_of(*fit(told, signs, lambda *_: 0.2), kind)
    lines = [
        "\t".join([family, str(weight), *rows[family, weight]]) for family, weight in sorted(rows)
    ]
    return "\n".join(lines) + "\n"


def lessons_of():
    from tests.moderation.labelled import DEVELOPMENT, OPEN, read

    return [*read(DEVELOPMENT), *read(OPEN)]


def see(example) -> Things:
    from detection.detector import seen_in

    return seen_in(example.text)


def part_of(example) -> int:
    return int(sha256(example.text.encode()).hexdigest()[:8], 16) % FOLDS


def main() -> None:
    from pathlib import Path

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    django.setup()
    from detection.model import FILE

    made = make()
    if not options.check:
        Path(FILE).write_text(made, encoding="utf-8")
    elif made != FILE.read_text(encoding="utf-8"):
        raise SystemExit("The weights are not what the labelled texts make: train again.")


if __name__ == "__main__":
    main()
