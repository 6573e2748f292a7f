"""Does the service grow? People come, talk for half a minute and leave, again and again.

What is kept for all of them is filled in the first fifth; from then on memory should stay as it is.
"""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from tests.bench import load
from tests.bench.deployment import World, running_world
from tests.bench.rounds import TALK

SECONDS = 30
# Of what it was: less than the allocator gives and takes from one minute to the next.
MOST = 0.03


@dataclass
class Growth:
    messages: int
    # In bytes, after each half minute.
    memory: list[int]

    @property
    def share(self) -> float:
        fifth = max(1, len(self.memory) // 5)
        then, now = self.memory[fifth : 2 * fifth], self.memory[-fifth:]
        return median(now) / median(then) - 1

    @property
    def is_none(self) -> bool:
        return self.share <= MOST


def measure(*, minutes: float, tell: Callable[[str], None]) -> Growth:
    growth = Growth(0, [])
    with running_world(messages=100, rows=10) as world:
        for number in range(max(5, round(60 * minutes / SECONDS))):
            growth.messages += _talk(world)
            growth.memory.append(world.memory())
            tell(f"{(number + 1) * SECONDS} s: {growth.memory[-1] / 2**20:.1f} MB")
    return growth


def _talk(world: World) -> int:
    spec = {"port": world.port, "threads": world.plot["talking"], "in_flight": 1}
    return int(load.run(world, TALK, spec | {"seconds": SECONDS})["messages"])
