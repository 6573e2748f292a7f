"""Sending, beside the bare engine: interleaved rounds, of which the median counts."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from tests.bench import load
from tests.bench.deployment import World

TALK, BARE = "tests.bench.messaging_load", "tests.bench.engine_load"


@dataclass
class Round:
    messages: float
    deliveries: float
    seconds: float
    p50: float
    p95: float
    p99: float
    cpu: dict[str, float]

    @property
    def rate(self) -> float:
        return self.deliveries / self.seconds

    @property
    def cpu_per_thousand(self) -> dict[str, float]:
        each = {name: 1000 * used / self.messages for name, used in self.cpu.items()}
        return {"together": sum(each.values()), **each}


@dataclass
class Sending:
    """All rounds of all scenarios, by name."""

    rounds: dict[str, list[Round]] = field(default_factory=lambda: defaultdict(list))
    problems: list[str] = field(default_factory=list)

    def median(self, name: str, figure: Callable[[Round], float]) -> float:
        return median(figure(one) for one in self.rounds[name])

    def ratio(self, name: str, to: str, figure: Callable[[Round], float]) -> float:
        """Round by round, since the machine may be another from one to the next."""
        pairs = zip(self.rounds[name], self.rounds[to], strict=True)
        return median(figure(ours) / figure(theirs) for ours, theirs in pairs)


def send(world: World, *, rounds: int, seconds: float, tell: Callable[[str], None]) -> Sending:
    sending = Sending()
    for number in range(1, rounds + 1):
        tell(f"Sending, round {number} of {rounds} ...")
        _add(sending, "bare", _bare(world, seconds))
        for name, threads, in_flight in _scenarios(world):
            spec = {"port": world.port, "threads": threads, "in_flight": in_flight}
            _add(sending, name, load.run(world, TALK, spec | {"seconds": seconds}))
    return sending


def _scenarios(world: World) -> list[tuple[str, list[dict[str, Any]], int]]:
    return [
        ("one", world.plot["talking"], 1),
        ("eight", world.plot["talking"], 8),
        ("hot", [world.plot["hot"]], 1),
    ]


def _bare(world: World, seconds: float) -> dict[str, Any]:
    spec = {"port": world.engine.port, "threads": world.plot["bare"], "seconds": seconds}
    answer = load.run(world, BARE, spec)
    for thread, standing in zip(world.plot["bare"], answer["standing"], strict=True):
        thread |= standing
    return answer


def _add(sending: Sending, name: str, answer: dict[str, Any]) -> None:
    if answer.get("missing") or answer.get("out_of_order") or answer.get("errors"):
        wrong = {key: answer[key] for key in ("missing", "out_of_order", "errors")}
        sending.problems.append(f"{name}: {wrong}")
    latencies = answer["latencies"] or [float("nan")]
    sending.rounds[name].append(
        Round(
            messages=max(answer.get("messages_in_all", answer["messages"]), 1),
            deliveries=answer.get("deliveries", answer["messages"]),
            seconds=answer["seconds"],
            p50=_percentile(latencies, 50),
            p95=_percentile(latencies, 95),
            p99=_percentile(latencies, 99),
            cpu=answer["cpu"],
        )
    )


def _percentile(ordered: list[float], percent: int) -> float:
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]
