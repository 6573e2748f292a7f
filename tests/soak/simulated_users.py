"""The people: they write, read, look away, lose their connection and come back."""

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field

from tests.soak.checker import Pages
from tests.soak.deployment import Plot
from tests.soak.device import Device
from tests.soak.device_log import Witness
from tests.soak.stored import Stored
from tests.soak.thread_view import View

TWO_DEVICES = 0.4
# Whoever sees that so many have not gone out waits: a slow machine is not drowned, only slow.
MOST_UNSENT = 4
WORDS = ("could", "we", "move", "the", "shoot", "to", "morning", "light", "hall", "before", "ten")


@dataclass
class Crowd:
    devices: list[Device]
    rng: random.Random
    # Seconds between two things that one device does, about.
    pace: float
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)
    _habits: list[asyncio.Task[None]] = field(default_factory=list)

    async def begin(self) -> None:
        for device in self.devices:
            self._tasks.append(asyncio.create_task(device.live()))
            self._habits.append(asyncio.create_task(self._behave(device)))

    def raise_if_broken(self) -> None:
        """A device that fell over by a fault of its own must not look like one that is away."""
        for task in self._tasks + self._habits:
            if task.done() and not task.cancelled():
                task.result()

    async def rest(self) -> None:
        """Nobody begins anything any more; what waits is still sent."""
        for habit in self._habits:
            habit.cancel()
        await asyncio.gather(*self._habits, return_exceptions=True)
        for device in self.devices:
            device.away_until = device.dozes_until = 0.0

    async def look_everywhere(self) -> None:
        """As somebody who goes through all their conversations once."""
        for device in self.devices:
            for view in device.views.values():
                device.open(view)

    async def fresh_pages(self) -> Pages:
        """Every thread as somebody finds it who comes now."""
        somebody = {thread: device for device in self.devices for thread in device.views}
        return {thread: await device.load(thread) for thread, device in somebody.items()}

    async def end(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def counts(self) -> Counter[str]:
        return sum((device.counts for device in self.devices), Counter())

    @property
    def reconnects(self) -> int:
        return sum(max(0, device.connections - 1) for device in self.devices)

    async def _behave(self, device: Device) -> None:
        rng, number = device.rng, 0
        while True:
            await asyncio.sleep(rng.expovariate(1 / self.pace))
            for _ in range(rng.choice((0, 1, 1, 1, 1, 3))):
                if device.unsent >= MOST_UNSENT:
                    break
                number += 1
                words = " ".join(rng.choices(WORDS, k=rng.randint(2, 12)))
                device.write(self._choose_thread(device), f"{device.name} {number}: {words}")
            self._do_something_else(device)

    def _choose_thread(self, device: Device) -> str:
        others = list(device.views)
        return device.visible if device.rng.random() < 0.7 else device.rng.choice(others)

    def _do_something_else(self, device: Device) -> None:
        dice = device.rng.random()
        if dice < 0.06:
            device.drop(away=device.rng.uniform(0.0, 8.0))
        elif dice < 0.10:
            device.dozes_until = asyncio.get_running_loop().time() + device.rng.uniform(1, 6)
        elif dice < 0.20:
            device.show(device.rng.choice(list(device.views)))
        elif dice < 0.35:
            device.looked_at = not device.looked_at
        elif dice < 0.50:
            device.react()
        elif dice < 0.60:
            device.edit(f"{device.name} changed their mind: {device.rng.random()}")
        elif dice < 0.64:
            device.remove()


def gather(plot: Plot, stored: Stored, ports: list[int], *, seed: int, pace: float) -> Crowd:
    """Every person with one or two devices, each with the page as it is now."""
    rng = random.Random(seed)
    devices = []
    for number, (user, cookies) in enumerate(sorted(plot.cookies.items())):
        threads = [thread for thread, people in plot.threads.items() if user in people]
        count = 2 if rng.random() < TWO_DEVICES else 1
        for letter, cookie in zip("ab"[:count], cookies, strict=False):
            own = random.Random(f"{seed} {number} {letter}")
            devices.append(_device(f"p{number}{letter}", user, cookie, threads, stored, ports, own))
    return Crowd(devices, rng, pace)


def _device(
    name: str,
    user: str,
    cookie: str,
    threads: list[str],
    stored: Stored,
    ports: list[int],
    rng: random.Random,
) -> Device:
    newest = {thread: stored.messages[thread][-1] for thread in threads}
    witness = Witness(name, user, {thread: newest[thread]["seq"] for thread in threads})
    views = {
        thread: View(
            thread,
            witness,
            last_message=message["id"],
            last_seq=message["seq"],
            last_tally=message["tally"],
            ids={each["seq"]: each["id"] for each in stored.messages[thread]},
        )
        for thread, message in newest.items()
    }
    visible = rng.choice(threads)
    return Device(
        name=name,
        cookie=cookie,
        ports=ports,
        rng=rng,
        user=user,
        views=views,
        witness=witness,
        visible=visible,
    )
