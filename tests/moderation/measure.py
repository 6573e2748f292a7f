"""Measures the detector on a labelled file: `python -m tests.moderation.measure open --show`.

Only the figures of the held-out file are printed, never a text or an id.
"""

import argparse
import os
import time
from collections import Counter
from dataclasses import dataclass, field

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
PREVIOUS_MESSAGES = 4


@dataclass
class Metrics:
    correct: int = 0
    false_alarms: list = field(default_factory=list)
    missed: list = field(default_factory=list)
    total: Counter = field(default_factory=Counter)
    found: Counter = field(default_factory=Counter)
    seconds: float = 0.0
    messages: int = 0

    @property
    def precision(self) -> float:
        return self.correct / max(1, self.correct + len(self.false_alarms))

    @property
    def recall(self) -> float:
        return self.correct / max(1, self.correct + len(self.missed))


def is_found(messages) -> bool:
    from detection import judge

    return any(
        judge(text, messages[max(0, index - PREVIOUS_MESSAGES) : index]).is_found
        for index, text in enumerate(messages)
    )


def measure(examples) -> Metrics:
    metrics = Metrics()
    for example in examples:
        started = time.process_time()
        found = is_found(example.messages)
        metrics.seconds += time.process_time() - started
        metrics.messages += len(example.messages)
        if example.is_circumvention:
            metrics.total[example.kind] += 1
            metrics.found[example.kind] += found
        if found and example.is_circumvention:
            metrics.correct += 1
        elif found:
            metrics.false_alarms.append(example)
        elif example.is_circumvention:
            metrics.missed.append(example)
    return metrics


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", choices=["open", "kept_apart", "held_out"])
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    django.setup()
    from tests.moderation.labelled import OPEN, read

    if options.show and options.file != OPEN:
        parser.error("The held-out examples can't be shown.")
    metrics = measure(read(options.file))
    if options.show:
        for what in ("false_alarms", "missed"):
            for example in getattr(metrics, what):
                print(what, example.id, example.kind, example.disguise, example.messages)
    print(
        f"{options.file}: precision {metrics.precision:.3f}, recall {metrics.recall:.3f} "
        f"({metrics.correct} found, {len(metrics.false_alarms)} false alarms, "
        f"{len(metrics.missed)} missed)"
    )
    print(", ".join(f"{kind} {metrics.found[kind]}/{n}" for kind, n in metrics.total.items()))
    print(f"{1e6 * metrics.seconds / metrics.messages:.0f} µs of CPU a message")


if __name__ == "__main__":
    main()
