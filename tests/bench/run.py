"""All of it, from beginning to end."""

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench import pages, rounds, sockets
from tests.bench.deployment import ROOT, World, running_world
from tests.bench.profile import profile

import processes  # isort: skip


@dataclass(frozen=True)
class Size:
    rounds: int
    seconds: float
    messages: int
    rows: int
    idle: int
    storm: int
    requests: int
    visits: int


WHOLE = Size(5, 8.0, 100_000, 10_000, 1000, 500, 200, 5)
QUICK = Size(2, 3.0, 5_000, 1_000, 1000, 100, 40, 2)


@dataclass
class Result:
    size: Size
    sending: rounds.Sending
    thread: dict[str, float]
    inbox: dict[str, float]
    costs: dict[str, dict[str, float]]
    idle: dict[str, float]
    storm: dict[str, float]
    browser: dict[str, float] | None
    shares: dict[str, float]
    # What it was measured on, for whoever compares.
    machine: dict[str, Any]


def bench(size: Size, *, keep_profile: Path | None, tell: Callable[[str], None]) -> Result:
    began, load_before = time.monotonic(), os.getloadavg()[0]
    tell("Starting the service, Redis and the engine; making people and conversations ...")
    with running_world(messages=size.messages, rows=size.rows) as world:
        # First, while nothing has been used before that they could be made of.
        tell("Many quiet sockets ...")
        idle = sockets.idle(world, count=size.idle, seconds=2 * size.seconds)
        sending = rounds.send(world, rounds=size.rounds, seconds=size.seconds, tell=tell)
        tell("Looking where the time goes ...")
        shares = profile(world, seconds=size.seconds, keep=keep_profile)
        tell("Pages ...")
        thread = pages.compare(world, "short", "long", requests=size.requests)
        inbox = pages.compare(world, "small", "large", requests=size.requests)
        costs = _costs(world)
        browser = pages.in_browser(world, visits=size.visits)
        tell("Many sockets that all come back at once ...")
        storm = sockets.storm(world, count=size.storm)
    machine = {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load_before": load_before,
        "rounds": size.rounds,
        "seconds": size.seconds,
        "took": time.monotonic() - began,
    }
    return Result(size, sending, thread, inbox, costs, idle, storm, browser, shares, machine)


def _costs(world: World) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.costs"],
        cwd=ROOT,
        env=world.env,
        input=json.dumps(world.plot) + "\n",
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise processes.Problem(f"The costs could not be counted: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])
