"""Sending compared with the bare engine: interleaved rounds, of which the median counts."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from tests.bench import load
from tests.bench.deployment import Deployment

MESSAGING_LOAD, ENGINE_LOAD = "tests.bench.messaging_load", "tests.bench.engine_load"


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
        return {"total": sum(each.values()), **each}


@dataclass
class SendResults:
    """All rounds of all scenarios, by name."""

    rounds: dict[str, list[Round]] = field(default_factory=lambda: defaultdict(list))
    problems: list[str] = field(default_factory=list)

    def median(self, name: str, figure: Callable[[Round], float]) -> float:
        return median(figure(one) for one in self.rounds[name])

    def ratio(self, name: str, to: str, figure: Callable[[Round], float]) -> float:
        """The median ratio by round, since the speed of the machine varies between rounds."""
        pairs = zip(self.rounds[name], self.rounds[to], strict=True)
        return median(figure(measured) / figure(reference) for measured, reference in pairs)


def send(
    deployment: Deployment, *, rounds: int, seconds: float, log_progress: Callable[[str], None]
) -> SendResults:
    sending = SendResults()
    for number in range(1, rounds + 1):
        log_progress(f"Sending, round {number} of {rounds} ...")
        add_round(sending, "bare", _run_engine_load(deployment, seconds))
        for name, threads, in_flight in _scenarios(deployment):
            spec = {"port": deployment.port, "threads": threads, "in_flight": in_flight}
            result = load.run(deployment, MESSAGING_LOAD, spec | {"seconds": seconds})
            add_round(sending, name, result)
    return sending


def _scenarios(deployment: Deployment) -> list[tuple[str, list[dict[str, Any]], int]]:
    return [
        ("one", deployment.seed_data["talking"], 1),
        ("eight", deployment.seed_data["talking"], 8),
        ("hot", [deployment.seed_data["hot"]], 1),
    ]


def _run_engine_load(deployment: Deployment, seconds: float) -> dict[str, Any]:
    spec = {
        "port": deployment.engine.port,
        "threads": deployment.seed_data["bare"],
        "seconds": seconds,
    }
    result = load.run(deployment, ENGINE_LOAD, spec)
    for thread, standing in zip(deployment.seed_data["bare"], result["standing"], strict=True):
        thread |= standing
    return result


def add_round(sending: SendResults, name: str, result: dict[str, Any]) -> None:
    if result.get("missing") or result.get("out_of_order") or result.get("errors"):
        counts = {key: result[key] for key in ("missing", "out_of_order", "errors")}
        sending.problems.append(f"{name}: {counts}")
    latencies = result["latencies"] or [float("nan")]
    sending.rounds[name].append(
        Round(
            messages=max(result.get("messages_in_all", result["messages"]), 1),
            deliveries=result.get("deliveries", result["messages"]),
            seconds=result["seconds"],
            p50=_percentile(latencies, 50),
            p95=_percentile(latencies, 95),
            p99=_percentile(latencies, 99),
            cpu=result["cpu"],
        )
    )


def _percentile(ordered: list[float], percent: int) -> float:
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]
