"""Growth of memory while users repeatedly connect, exchange messages and disconnect.

Caches fill in the first fifth of the time; from then on memory should stay constant.
"""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from tests.bench import load
from tests.bench.deployment import Deployment, running_deployment
from tests.bench.rounds import MESSAGING_LOAD

SECONDS = 30
# Relative growth; smaller than the fluctuation of the allocator.
MAX_GROWTH = 0.03


@dataclass
class Growth:
    messages: int
    # In bytes, after each half minute.
    memory: list[int]

    @property
    def share(self) -> float:
        fifth = max(1, len(self.memory) // 5)
        early, late = self.memory[fifth : 2 * fifth], self.memory[-fifth:]
        return median(late) / median(early) - 1

    @property
    def is_none(self) -> bool:
        return self.share <= MAX_GROWTH


def measure(*, minutes: float, log_progress: Callable[[str], None]) -> Growth:
    growth = Growth(0, [])
    with running_deployment(messages=100, rows=10) as deployment:
        for number in range(max(5, round(60 * minutes / SECONDS))):
            growth.messages += _run_load(deployment)
            growth.memory.append(deployment.memory())
            log_progress(f"{(number + 1) * SECONDS} s: {growth.memory[-1] / 2**20:.1f} MB")
    return growth


def _run_load(deployment: Deployment) -> int:
    spec = {"port": deployment.port, "threads": deployment.seed_data["talking"], "in_flight": 1}
    return int(load.run(deployment, MESSAGING_LOAD, spec | {"seconds": SECONDS})["messages"])
