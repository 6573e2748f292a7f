"""Trains the weights of the detector's model: `python -m tests.moderation.train`.

`--check` verifies that the weights in the repository result from the labelled texts. The held-out
file is not read here. Plain Python, a fixed seed and integer weights, so that every machine writes
the same file.
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
# Weight of a misclassified text against the size of the weights; passes over all texts; seed.
SLACK, ROUNDS, SEED = 1.5, 20, 8
# Features found in fewer texts are ignored.
MIN_TEXTS = 3
# Weights below this many steps have no visible effect and are omitted.
MIN_WEIGHT = 2
FOLDS = 5

Features = dict[str, set[str]]
FeatureIndex = dict[tuple[str, str], int]


@dataclass
class TrainingText:
    """One text: the indexes of its weights by family, and their value in that family."""

    parts: list[tuple[float, itemgetter, list[int]]]
    sign: int
    alpha: float = 0.0

    def margin(self, weights: list[float]) -> float:
        return sum(value * sum(getter(weights)) for value, getter, _ in self.parts)

    def update(self, weights: list[float], step: float) -> None:
        for value, _, indexes in self.parts:
            by = step * value
            for index in indexes:
                weights[index] += by

    @property
    def size(self) -> float:
        return sum(value * value * len(indexes) for value, _, indexes in self.parts)


def make_training_text(
    features: Features, feature_index: FeatureIndex, sign: int, value_of
) -> TrainingText:
    # The last weight is always 0: itemgetter returns a tuple only for two or more indexes.
    parts = [(1.0, itemgetter(0, -1), [0])]
    for family, names in features.items():
        indexes = sorted(
            feature_index[family, name] for name in names if (family, name) in feature_index
        )
        if indexes:
            parts.append((value_of(family, names), itemgetter(*indexes, -1), indexes))
    return TrainingText(parts, sign)


def train(training_texts: Sequence[TrainingText], size: int) -> list[float]:
    """Trains a support vector machine with squared slack by coordinate descent in its dual."""
    weights = [0.0] * (size + 2)
    softness = 1 / (2 * SLACK)
    with_curvature = [(one, one.size + softness) for one in training_texts]
    rng = random.Random(SEED)
    for _ in range(ROUNDS):
        rng.shuffle(with_curvature)
        for one, curvature in with_curvature:
            slope = one.sign * one.margin(weights) - 1 + one.alpha * softness
            alpha = max(0.0, one.alpha - slope / curvature)
            if alpha != one.alpha:
                one.update(weights, (alpha - one.alpha) * one.sign)
                one.alpha = alpha
    return weights


def vocabulary(features: Iterable[Features]) -> FeatureIndex:
    counts = Counter((family, name) for one in features for family in one for name in one[family])
    feature_index = sorted(name for name, count in counts.items() if count >= MIN_TEXTS)
    return {name: index for index, name in enumerate(feature_index, start=1)}


def fit(
    features: Sequence[Features], signs: Sequence[int], value_of
) -> tuple[FeatureIndex, list[float]]:
    feature_index = vocabulary(features)
    training_texts = [
        make_training_text(one, feature_index, sign, value_of)
        for one, sign in zip(features, signs, strict=True)
    ]
    return feature_index, train(training_texts, len(feature_index))


def rows_of(
    feature_index: FeatureIndex, weights: list[float], family: str = ""
) -> dict[tuple[str, int], list[str]]:
    """Rounds the weights to integers and omits small ones."""
    from detection.model import BIAS, STEPS

    rows = defaultdict(list)
    rows[family or BIAS, round(STEPS * weights[0])].append(BIAS)
    for (own_family, name), index in feature_index.items():
        weight = round(STEPS * weights[index])
        if abs(weight) >= MIN_WEIGHT:
            rows[family or own_family, weight].append(name)
    return rows


def make() -> str:
    """Returns the content of the weights file."""
    from detection.detector import REASONS
    from detection.model import decisive_features, value_of

    examples = training_examples()
    features = [get_features(one) for one in examples]
    rows = rows_of(
        *fit(features, [1 if one.is_circumvention else -1 for one in examples], value_of)
    )
    attempts = [
        (one, name) for one, name in zip(examples, features, strict=True) if one.is_circumvention
    ]
    decisive = [{"decisive": decisive_features(name)} for _, name in attempts]
    for kind in REASONS:
        signs = [1 if one.kind == kind else -1 for one, _ in attempts]
        rows |= rows_of(*fit(decisive, signs, lambda *_: 0.2), kind)
    lines = [
        "\t".join([family, str(weight), *rows[family, weight]]) for family, weight in sorted(rows)
    ]
    return "\n".join(lines) + "\n"


def training_examples():
    from tests.moderation.labelled import DEVELOPMENT, OPEN, read

    return [*read(DEVELOPMENT), *read(OPEN)]


def get_features(example) -> Features:
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
