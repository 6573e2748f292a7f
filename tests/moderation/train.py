"""Learns the weights of the detector's model: `python -m tests.moderation.train`.

With `--check` nothing is written: the development set and the talk of the demo are cut in five,
each fifth is judged with what the rest and the open half teach, and the figures of the whole
detector are printed. What is kept apart is never read here.
"""

import argparse
import json
import math
import os
import random
from base64 import b64encode
from collections import Counter
from datetime import UTC, datetime

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
ROUNDS = 40
RATE = 0.25
# The pull to nought, shared out over the texts that have a feature.
HOLD = 0.5
FOLDS = 5


def learn(rows: list[tuple[list[int], bool]], buckets: int) -> tuple[list[float], float]:
    """Logistic regression: gradient steps that grow smaller where they were large, and a pull to
    nought. What only one text has teaches nothing."""
    seen = Counter(one for features, _ in rows for one in features)
    rows = [([one for one in features if seen[one] > 1], out) for features, out in rows]
    weights, moved = [0.0] * buckets, [1e-3] * buckets
    start, start_moved = 0.0, 1e-3
    order, dice = list(range(len(rows))), random.Random(1)
    for _ in range(ROUNDS):
        dice.shuffle(order)
        for at in order:
            features, out = rows[at]
            total = start + sum(weights[one] for one in features)
            wrong = 1 / (1 + math.exp(-max(-30.0, min(30.0, total)))) - out
            start_moved += wrong * wrong
            start -= RATE * wrong / math.sqrt(start_moved)
            for one in features:
                step = wrong + HOLD * weights[one] / seen[one]
                moved[one] += step * step
                weights[one] -= RATE * step / math.sqrt(moved[one])
    return weights, start


def pack(weights: list[float], start: float) -> dict:
    step = max(map(abs, weights)) / 127
    small = bytes(round(weight / step) & 0xFF for weight in weights)
    return {"weights": b64encode(small).decode(), "step": step, "start": start}


def ordinary() -> list[str]:
    """What the people of the demo say: work, and nothing else."""
    from threads import demo

    texts = [text for one in demo.people() for text in (one.headline, one.about, one.city)]
    for story in demo.conversations(datetime.now(UTC)):
        texts += [story.subject, *(line.text for line in story.messages)]
    return list(dict.fromkeys(filter(None, texts)))


def rows_of(examples) -> list[tuple[list[int], bool]]:
    from moderation.detection.detector import seen_by_the_model

    return [
        (sorted(seen_by_the_model(" ".join(one.messages))), one.is_circumvention)
        for one in examples
    ]


def harmless(texts: list[str]) -> list[tuple[list[int], bool]]:
    from moderation.detection.detector import seen_by_the_model

    return [(sorted(seen_by_the_model(text)), False) for text in texts]


def check(extra, examples) -> None:
    """Every example judged with weights that it had no part in."""
    from moderation.detection import detector, model
    from moderation.detection.features import BUCKETS
    from tests.moderation.measure import measure, show

    dice = random.Random(2)
    examples = dice.sample(examples, len(examples))
    basis, own = rows_of(extra), rows_of(examples)
    said = dice.sample(ordinary(), len(ordinary()))
    calm = harmless(said)
    whole, alarms = None, 0
    for fold in range(FOLDS):
        rest = [row for at, row in enumerate(own) if at % FOLDS != fold]
        rest += [row for at, row in enumerate(calm) if at % FOLDS != fold]
        weights, start = learn(basis + rest, BUCKETS)
        learnt = weights, 1.0, start
        model._learnt = lambda learnt=learnt: learnt
        detector._cached.cache_clear()
        figures = measure(examples[fold::FOLDS])
        whole = figures if whole is None else whole + figures
        alarms += sum(detector.judge(text).is_found for text in said[fold::FOLDS])
    show("development, cross-validated", whole)
    print(f"the demo, cross-validated: {alarms} false alarms in {len(said)} texts")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    django.setup()
    from moderation.detection.features import BUCKETS
    from moderation.detection.model import WEIGHTS
    from tests.moderation.labelled import DEVELOPMENT, OPEN, read

    if options.check:
        check(read(OPEN), read(DEVELOPMENT))
        return
    rows = rows_of(read(OPEN) + read(DEVELOPMENT)) + harmless(ordinary())
    stored = pack(*learn(rows, BUCKETS))
    WEIGHTS.write_text(json.dumps(stored) + "\n", encoding="utf-8")
    print(f"{WEIGHTS.name}: {WEIGHTS.stat().st_size} bytes")


if __name__ == "__main__":
    main()
