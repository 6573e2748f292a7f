"""Simulated users, who write, read, switch tabs, disconnect and reconnect."""

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field

from tests.soak.checker import Pages
from tests.soak.deployment import SeedData
from tests.soak.device import Device
from tests.soak.device_log import DeviceLog
from tests.soak.stored import Stored
from tests.soak.thread_view import ThreadView

TWO_DEVICES_PROBABILITY = 0.4
# A device with this many unsent messages writes no more, so that a slow machine is not overloaded.
MAX_UNSENT = 4
WORDS = ("could", "we", "move", "the", "shoot", "to", "morning", "light", "hall", "before", "ten")


@dataclass
class SimulatedUsers:
    devices: list[Device]
    rng: random.Random
    # Average seconds between two actions of a device.
    pause_seconds: float
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)
    _actions: list[asyncio.Task[None]] = field(default_factory=list)

    async def start(self) -> None:
        for device in self.devices:
            self._tasks.append(asyncio.create_task(device.run()))
            self._actions.append(asyncio.create_task(self._act(device)))

    def raise_if_broken(self) -> None:
        """Raises the error of a failed task, which must not pass for an offline device."""
        for task in self._tasks + self._actions:
            if task.done() and not task.cancelled():
                task.result()

    async def stop_actions(self) -> None:
        """Stops all new actions; unsent messages are still sent."""
        for action in self._actions:
            action.cancel()
        await asyncio.gather(*self._actions, return_exceptions=True)
        for device in self.devices:
            device.offline_until = device.stalled_until = 0.0

    async def open_all_threads(self) -> None:
        """Opens every thread once on every device."""
        for device in self.devices:
            for view in device.views.values():
                device.open(view)

    async def fresh_pages(self) -> Pages:
        """The newly loaded page of every thread."""
        viewers = {thread: device for device in self.devices for thread in device.views}
        return {thread: await device.load(thread) for thread, device in viewers.items()}

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def counts(self) -> Counter[str]:
        return sum((device.counts for device in self.devices), Counter())

    @property
    def reconnects(self) -> int:
        return sum(max(0, device.connections - 1) for device in self.devices)

    async def _act(self, device: Device) -> None:
        rng, number = device.rng, 0
        while True:
            await asyncio.sleep(rng.expovariate(1 / self.pause_seconds))
            for _ in range(rng.choice((0, 1, 1, 1, 1, 3))):
                if device.unsent >= MAX_UNSENT:
                    break
                number += 1
                words = " ".join(rng.choices(WORDS, k=rng.randint(2, 12)))
                device.write(self._choose_thread(device), f"{device.name} {number}: {words}")
            self._act_randomly(device)

    def _choose_thread(self, device: Device) -> str:
        others = list(device.views)
        return device.visible if device.rng.random() < 0.7 else device.rng.choice(others)

    def _act_randomly(self, device: Device) -> None:
        roll = device.rng.random()
        if roll < 0.06:
            device.drop(offline_seconds=device.rng.uniform(0.0, 8.0))
        elif roll < 0.10:
            device.stalled_until = asyncio.get_running_loop().time() + device.rng.uniform(1, 6)
        elif roll < 0.20:
            device.show(device.rng.choice(list(device.views)))
        elif roll < 0.35:
            device.is_active = not device.is_active
        elif roll < 0.50:
            device.react()
        elif roll < 0.60:
            device.edit(f"{device.name} changed their mind: {device.rng.random()}")
        elif roll < 0.64:
            device.remove()


def make_users(
    seed_data: SeedData, stored: Stored, ports: list[int], *, seed: int, pause_seconds: float
) -> SimulatedUsers:
    """Creates one or two devices for each user, with the pages in their current state."""
    rng = random.Random(seed)
    devices = []
    for number, (user, cookies) in enumerate(sorted(seed_data.cookies.items())):
        threads = [thread for thread, people in seed_data.threads.items() if user in people]
        count = 2 if rng.random() < TWO_DEVICES_PROBABILITY else 1
        for letter, cookie in zip("ab"[:count], cookies, strict=False):
            device_rng = random.Random(f"{seed} {number} {letter}")
            devices.append(
                _device(f"p{number}{letter}", user, cookie, threads, stored, ports, device_rng)
            )
    return SimulatedUsers(devices, rng, pause_seconds)


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
    log = DeviceLog(name, user, {thread: newest[thread]["seq"] for thread in threads})
    views = {
        thread: ThreadView(
            thread,
            log,
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
        log=log,
        visible=visible,
    )
