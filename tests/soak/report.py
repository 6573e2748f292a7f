"""The report of a run, as text and as JSON."""

from dataclasses import dataclass, field
from typing import Any

from tests.soak.checker import FAULTS, Verdict

EXAMPLES = 5


@dataclass
class Report:
    verdict: Verdict
    seed: int
    minutes: float
    took: float
    people: int
    devices: int
    reconnects: int
    settled_in: float
    done: dict[str, int]
    injected: dict[str, int]
    counts: dict[str, int]
    # Other failures: services that exit, devices that never catch up.
    problems: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        return self.verdict.is_clean and not self.problems

    def as_json(self) -> dict[str, Any]:
        verdict = self.verdict
        return {
            "clean": self.is_clean,
            "seed": self.seed,
            "minutes": self.minutes,
            "seconds": round(self.took, 1),
            "settled_in": round(self.settled_in, 1),
            "people": self.people,
            "devices": self.devices,
            "reconnects": self.reconnects,
            "acknowledged": verdict.acknowledged,
            "stored": verdict.stored,
            "delivered": verdict.delivered,
            "faults": {name: len(verdict.faults[name]) for name in FAULTS},
            "examples": {name: found[:50] for name, found in verdict.faults.items() if found},
            "surprises": self.problems,
            "done": self.done,
            "injected": self.injected,
            "counts": self.counts,
        }

    def as_text(self) -> str:
        verdict = self.verdict
        lines = ["", *_table({"people": self.people, "devices": self.devices})]
        lines += _table(self.done) + _table({f"answers {k}": v for k, v in self.injected.items()})
        lines += _table({"reconnects": self.reconnects} | self.counts)
        lines += [
            "",
            f"seed {self.seed}, {self.took:.0f} s, quiet after {self.settled_in:.0f} s",
            "",
        ]
        lines += _table(
            {
                "acknowledged": verdict.acknowledged,
                "stored": verdict.stored,
                "delivered": verdict.delivered,
            }
        )
        lines += _table({name: len(verdict.faults[name]) for name in FAULTS})
        for name, found in verdict.faults.items():
            lines += [f"  {name}: {description}" for description in found[:EXAMPLES]]
        lines += [f"  {problem}" for problem in self.problems]
        return "\n".join([*lines, "", "All good." if self.is_clean else "NOT GOOD."])


def _table(rows: dict[str, int]) -> list[str]:
    return [f"{name:<36}{count:>10,}" for name, count in rows.items()]
