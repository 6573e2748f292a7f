"""The labelled examples for the detector: reads `corpus/`, one example a line."""

import json
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent / "corpus"
OPEN = "open"
DEVELOPMENT = "development"
KEPT_APART = "kept_apart"
HELD_OUT = "held_out"
CIRCUMVENTION = "circumvention"
HARMLESS = "harmless"


@dataclass(frozen=True)
class Example:
    id: str
    language: str
    label: str
    kind: str
    disguise: str | None
    # Not in the repr: a failing test must not print texts of the held-out file.
    messages: tuple[str, ...] = field(repr=False)

    @property
    def is_circumvention(self) -> bool:
        return self.label == CIRCUMVENTION

    @property
    def text(self) -> str:
        return "\n".join(self.messages)


def read(name: str) -> list[Example]:
    lines = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").removesuffix("\n").split("\n")
    return [_example(json.loads(line)) for line in lines]


def _example(row: dict) -> Example:
    # A missing or additional field raises a TypeError.
    return Example(**{**row, "messages": tuple(row["messages"])})
