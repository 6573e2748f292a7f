"""Trains the weights of the detector's model: `python -m tests.moderation.train`.

`--check` verifies that the weights in the repository result from the labelled texts. The held-out
file is not read here.
"""

import argparse
import math
import os
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
# Weight of a misclassified text against the size of the weights, and seed.
SLACK, SEED = 0.5, 8
# How much more rare pieces and words count, as a power of their inverse document frequency.
RARENESS = 0.5
# Features found in fewer texts are ignored.
MIN_TEXTS = 3
# Weights below this many steps have no visible effect and are omitted.
MIN_WEIGHT = 2
FOLDS = 5
# The value of a feature that distinguishes kinds of attempts.
KIND_VALUE = 0.2
# The share of the attempts that the model finds and the screen misses, and the slack of the screen.
SCREENED_OUT, SCREEN_SLACK = 0.005, 0.3

# A feature is a family and a name; the bias has no name.
Feature = tuple[str, str]
Vector = Mapping[Feature, float]
Rows = dict[tuple[str, int], list[str]]


def fit(vectors: Sequence[Vector], labels: Sequence[bool]) -> dict[Feature, float]:
    """The weights of a linear support vector machine."""
    from sklearn.svm import LinearSVC

    counts = Counter(name for one in vectors for name in one)
    names = sorted(name for name in counts if counts[name] >= MIN_TEXTS)
    factors = [rareness(name, counts[name] / len(vectors)) for name in names]
    machine = LinearSVC(C=SLACK, random_state=SEED, max_iter=5000, tol=0.01)
    machine.fit(matrix_of(vectors, names, factors), labels)
    weights = zip(names, machine.coef_[0], factors, strict=True)
    bias = {("", ""): float(machine.intercept_[0])}
    return bias | {name: float(weight) * factor for name, weight, factor in weights}


def matrix_of(vectors: Sequence[Vector], names: Sequence[Feature], factors: Sequence[float]):
    from scipy.sparse import csr_matrix

    columns = {name: at for at, name in enumerate(names)}
    values, rows, places = [], [], []
    for row, one in enumerate(vectors):
        for name in sorted(one.keys() & columns.keys()):
            values.append(one[name] * factors[columns[name]])
            rows.append(row)
            places.append(columns[name])
    return csr_matrix((values, (rows, places)), shape=(len(vectors), len(columns)))


def fit_screen(vectors: Sequence[Vector], labels: Sequence[bool]) -> dict[Feature, float]:
    """The weights of single words, by logistic regression."""
    from sklearn.linear_model import LogisticRegression

    counts = Counter(name for one in vectors for name in one)
    names = sorted(name for name in counts if counts[name] >= MIN_TEXTS)
    machine = LogisticRegression(C=SCREEN_SLACK, solver="liblinear", random_state=SEED)
    machine.fit(matrix_of(vectors, names, [1.0] * len(names)), labels)
    return dict(zip(names, map(float, machine.coef_[0]), strict=True))


def cross_validate(
    fit_some, vectors: Sequence[Vector], labels: Sequence[bool], folds
) -> list[float]:
    """The score of each text by the weights that the other texts make."""
    scores = [0.0] * len(vectors)
    for fold in range(FOLDS):
        others = [at for at, own in enumerate(folds) if own != fold]
        weights = fit_some([vectors[at] for at in others], [labels[at] for at in others])
        for at in set(range(len(vectors))).difference(others):
            scores[at] = weights.get(("", ""), 0.0) + sum(
                weights.get(name, 0.0) * value for name, value in vectors[at].items()
            )
    return scores


def screen_rows(examples, vectors: Sequence[Vector], labels: Sequence[bool]) -> Rows:
    """The weights of the screen, and the threshold that misses few of the attempts found."""
    from detection.detector import BAR
    from detection.model import BIAS, SCREEN, STEPS

    folds = [*map(fold_of, examples)]
    screens = [screen_vector_of(one) for one in examples]
    margins = cross_validate(fit, vectors, labels, folds)
    scores = cross_validate(fit_screen, screens, labels, folds)
    found = sorted(
        score
        for score, margin, label in zip(scores, margins, labels, strict=True)
        if label and margin >= BAR
    )
    rows = rows_of(fit_screen(screens, labels), SCREEN)
    threshold = round(STEPS * found[int(SCREENED_OUT * len(found))])
    rows.setdefault((SCREEN, threshold), []).append(BIAS)
    return rows


def rareness(feature: Feature, share: float) -> float:
    return (-math.log(share) / 6) ** RARENESS if feature[0] in ("pieces", "words") else 1.0


def rows_of(weights: Vector, family: str = "") -> Rows:
    """Rounds the weights to integers and omits small ones."""
    from detection.model import BIAS, STEPS

    rows: Rows = defaultdict(list)
    for (own_family, name), weight in weights.items():
        steps = round(STEPS * weight)
        if not name:
            rows[family or BIAS, steps].append(BIAS)
        elif abs(steps) >= MIN_WEIGHT:
            rows[family or own_family, steps].append(name)
    return rows


def make() -> str:
    """Returns the content of the weights file."""
    from detection import REASONS

    examples = training_examples()
    vectors, labels = [*map(vector_of, examples)], [*map(is_attempt, examples)]
    rows = rows_of(fit(vectors, labels)) | screen_rows(examples, vectors, labels)
    attempts = [*filter(is_attempt, examples)]
    vectors = [kind_vector_of(one) for one in attempts]
    for kind in REASONS:
        rows |= rows_of(fit(vectors, [one.kind == kind for one in attempts]), kind)
    lines = [[family, str(steps), *rows[family, steps]] for family, steps in sorted(rows)]
    return "\n".join(map("\t".join, lines)) + "\n"


def training_examples():
    from tests.moderation.labelled import DEVELOPMENT, OPEN, read

    return [*read(DEVELOPMENT), *read(OPEN)]


def is_attempt(example) -> bool:
    return example.is_circumvention


@cache
def read_example(example):
    from detection.reading import read
    from detection.rules import match_rules

    reading = read(example.text)
    return reading, match_rules(reading)


def vector_of(example) -> Vector:
    from detection.model import features_of, pieces_of, value_of
    from detection.reading import DIGIT

    reading, scores = read_example(example)
    tokens = [DIGIT.sub("0", token) for token in sorted({*reading.tokens})]
    pieces = [piece for token in tokens for piece in pieces_of(token)]
    vector: dict[Feature, float] = defaultdict(float)
    for family, names in [("pieces", pieces), *features_of(reading, scores)]:
        for name in names:
            vector[family, name] += value_of(family, len(names))
    return vector


def screen_vector_of(example) -> Vector:
    from detection.model import screen_features

    words = example.text.split()
    return Counter(("screen", name) for word in words for name in screen_features(word))


def kind_vector_of(example) -> Vector:
    from detection.model import decisive_features

    names = decisive_features(*read_example(example))
    return {("kind", name): KIND_VALUE for name in names}


def fold_of(example) -> int:
    """The part of a cross-validation that the example belongs to."""
    return int(sha256(example.text.encode()).hexdigest()[:8], 16) % FOLDS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    django.setup()
    from detection.model import FILE

    made = make()
    if not options.check:
        FILE.write_text(made, encoding="utf-8")
    elif made != FILE.read_text(encoding="utf-8"):
        raise SystemExit("The weights are not what the labelled texts make: train again.")


if __name__ == "__main__":
    main()
