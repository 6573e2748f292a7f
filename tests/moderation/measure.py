"""How good the detector is on a labelled file: `python -m tests.moderation.measure open --show`.

Of the file that is kept apart only the figures are printed, never a text or an id.
"""

import argparse
import os
import time
from collections import Counter
from dataclasses import dataclass, field

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
MEMORY = 4


@dataclass
class Figures:
    right: int = 0
    false_alarms: list = field(default_factory=list)
    missed: list = field(default_factory=list)
    total: Counter = field(default_factory=Counter)
    found: Counter = field(default_factory=Counter)
    seconds: float = 0.0
    messages: int = 0

    @property
    def precision(self) -> float:
        return self.right / max(1, self.right + len(self.false_alarms))

    @property
    def recall(self) -> float:
        return self.right / max(1, self.right + len(self.missed))


def is_found(messages) -> bool:
    from detection import judge

    return any(
        judge(text, messages[max(0, place - MEMORY) : place]).is_found
        for place, text in enumerate(messages)
    )


def measure(examples) -> Figures:
    figures = Figures()
    for example in examples:
        began = time.process_time()
        found = is_found(example.messages)
        figures.seconds += time.process_time() - began
        figures.messages += len(example.messages)
        if example.is_circumvention:
            figures.total[example.kind] += 1
            figures.found[example.kind] += found
        if found and example.is_circumvention:
            figures.right += 1
        elif found:
            figures.false_alarms.append(example)
        elif example.is_circumvention:
            figures.missed.append(example)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", choices=["open", "kept_apart"])
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    django.setup()
    from tests.moderation.labelled import KEPT_APART, read

    if options.show and options.file == KEPT_APART:
        parser.error("What is kept apart is not shown.")
    figures = measure(read(options.file))
    if options.show:
        for what in ("false_alarms", "missed"):
            for example in getattr(figures, what):
                print(what, example.id, example.kind, example.disguise, example.messages)
    print(
        f"{options.file}: precision {figures.precision:.3f}, recall {figures.recall:.3f} "
        f"({figures.right} found, {len(figures.false_alarms)} false alarms, "
        f"{len(figures.missed)} missed)"
    )
    print(", ".join(f"{kind} {figures.found[kind]}/{n}" for kind, n in figures.total.items()))
    print(f"{1e6 * figures.seconds / figures.messages:.0f} µs of CPU a message")


if __name__ == "__main__":
    main()
