"""What happens to them: every few seconds something is killed, or begins to go wrong."""

import random
import time
from collections import Counter
from collections.abc import Callable

from tests.soak.deployment import World
from tests.soak.programs import wait_for

# Of the requests that a fault can befall, so many, for so many seconds.
WEATHER = {
    "throttled": (0.5, 3.0),
    "conflict": (0.5, 3.0),
    "broken": (0.5, 3.0),
    "slow": (0.2, 3.0),
    "stale": (1.0, 6.0),
    "cut": (0.3, 4.0),
}
PAUSE = (1.5, 4.5)


class Chaos:
    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.done: Counter[str] = Counter()
        self._rng = random.Random(f"chaos {seed}")
        self._deck: list[tuple[str, Callable[[], None]]] = []

    def run(self, seconds: float, tell: Callable[[str], None]) -> None:
        end = time.monotonic() + seconds
        while (now := time.monotonic()) < end:
            name = self._strike()
            tell(f"{end - now:5.0f} s left: {name}")
            self._wait(min(end, now + self._rng.uniform(*PAUSE)))

    def stop(self) -> None:
        """Everything is up, and stays up."""
        self.world.proxy.clear()
        wait_for(self.world.programs)

    def _strike(self) -> str:
        """All of them in turn, in an order that is different each time."""
        if not self._deck:
            self._deck = self._all()
            self._rng.shuffle(self._deck)
        name, do = self._deck.pop()
        do()
        self.done[name] += 1
        return name

    def _all(self) -> list[tuple[str, Callable[[], None]]]:
        world = self.world
        kills = [
            (f"kill {program.name}", lambda program=program: program.kill(self._away()))
            for program in world.programs
        ]
        leaves = [(f"ask {one.name} to leave", one.ask_to_leave) for one in world.services[:1]]
        weather = [
            (fault, lambda fault=fault: world.proxy.begin(fault, *WEATHER[fault]))
            for fault in WEATHER
        ]
        return kills + leaves + weather

    def _away(self) -> float:
        return self._rng.choice((0.0, 0.0, self._rng.uniform(0.5, 3.0)))

    def _wait(self, until: float) -> None:
        while time.monotonic() < until:
            for program in self.world.programs:
                program.tend()
            time.sleep(0.1)
