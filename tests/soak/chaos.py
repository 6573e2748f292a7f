"""Injects faults: every few seconds a process is killed, or a fault of the store begins."""

import random
import time
from collections import Counter
from collections.abc import Callable

from tests.soak.deployment import Deployment
from tests.soak.programs import wait_for

# Fault -> its probability for an affected request, and its duration in seconds.
FAULT_SETTINGS = {
    "throttled": (0.5, 3.0),
    "conflict": (0.5, 3.0),
    "broken": (0.5, 3.0),
    "slow": (0.2, 3.0),
    "stale": (1.0, 6.0),
    "cut": (0.3, 4.0),
}
PAUSE_SECONDS = (1.5, 4.5)


class Chaos:
    def __init__(self, deployment: Deployment, seed: int) -> None:
        self.deployment = deployment
        self.done: Counter[str] = Counter()
        self._rng = random.Random(f"chaos {seed}")
        self._queue: list[tuple[str, Callable[[], None]]] = []

    def run(self, seconds: float, log_progress: Callable[[str], None]) -> None:
        end = time.monotonic() + seconds
        while (now := time.monotonic()) < end:
            name = self._inject_next()
            log_progress(f"{end - now:5.0f} s left: {name}")
            self._wait(min(end, now + self._rng.uniform(*PAUSE_SECONDS)))

    def stop(self) -> None:
        """Ends all faults and waits until every process is up."""
        self.deployment.proxy.clear()
        wait_for(self.deployment.programs)

    def _inject_next(self) -> str:
        """Injects each fault once per cycle, in a random order."""
        if not self._queue:
            self._queue = self._list_actions()
            self._rng.shuffle(self._queue)
        name, action = self._queue.pop()
        action()
        self.done[name] += 1
        return name

    def _list_actions(self) -> list[tuple[str, Callable[[], None]]]:
        deployment = self.deployment
        kills = [
            (f"kill {program.name}", lambda program=program: program.kill(self._random_downtime()))
            for program in deployment.programs
        ]
        terminations = [
            (f"ask {service.name} to leave", service.request_stop)
            for service in deployment.services[:1]
        ]
        faults = [
            (fault, lambda fault=fault: deployment.proxy.begin(fault, *FAULT_SETTINGS[fault]))
            for fault in FAULT_SETTINGS
        ]
        return kills + terminations + faults

    def _random_downtime(self) -> float:
        return self._rng.choice((0.0, 0.0, self._rng.uniform(0.5, 3.0)))

    def _wait(self, until: float) -> None:
        while time.monotonic() < until:
            for program in self.deployment.programs:
                program.supervise()
            time.sleep(0.1)
