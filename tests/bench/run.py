"""The whole benchmark."""

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

from tests.bench import heartbeats, pages, rounds, sockets
from tests.bench.deployment import ROOT, Deployment, running_deployment
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
    open_pages: int
    heartbeat_seconds: float


WHOLE = Size(5, 8.0, 100_000, 10_000, 1000, 500, 200, 5, 2000, 75.0)
QUICK = Size(2, 3.0, 5_000, 1_000, 1000, 100, 40, 2, 400, 25.0)


@dataclass
class Result:
    size: Size
    sending: rounds.SendResults
    thread: dict[str, float]
    inbox: dict[str, float]
    costs: dict[str, dict[str, float]]
    idle: dict[str, float]
    heartbeats: dict[str, float]
    storm: dict[str, float]
    browser: dict[str, float] | None
    # A slow processor and network.
    slow_browser: dict[str, float] | None
    shares: dict[str, float]
    # The machine and the size of the run.
    machine: dict[str, Any]


def bench(size: Size, *, keep_profile: Path | None, log_progress: Callable[[str], None]) -> Result:
    started_at, load_before = time.monotonic(), os.getloadavg()[0]
    log_progress("Starting the service, Redis and the engine; creating users and conversations ...")
    with running_deployment(messages=size.messages, rows=size.rows) as deployment:
        # Measured first, while no freed memory can be reused.
        log_progress("Idle sockets ...")
        idle = sockets.idle(deployment, count=size.idle, seconds=2 * size.seconds)
        sending = rounds.send(
            deployment, rounds=size.rounds, seconds=size.seconds, log_progress=log_progress
        )
        log_progress("Profiling ...")
        shares = profile(deployment, seconds=size.seconds, keep=keep_profile)
        log_progress("Pages ...")
        thread = pages.compare(deployment, "short", "long", requests=size.requests)
        inbox = pages.compare(deployment, "small", "large", requests=size.requests)
        costs = _costs(deployment)
        browser = pages.in_browser(deployment, visits=size.visits)
        slow_browser = pages.in_browser(deployment, visits=size.visits, is_slow=True)
        log_progress("Sockets that all reconnect at once ...")
        storm = sockets.storm(deployment, count=size.storm)
        log_progress("Heartbeats ...")
        beats = heartbeats.measure(
            deployment, count=size.open_pages, seconds=size.heartbeat_seconds
        )
    machine = {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load_before": load_before,
        "rounds": size.rounds,
        "seconds": size.seconds,
        "took": time.monotonic() - started_at,
    }
    return Result(
        size=size,
        sending=sending,
        thread=thread,
        inbox=inbox,
        costs=costs,
        idle=idle,
        heartbeats=beats,
        storm=storm,
        browser=browser,
        slow_browser=slow_browser,
        shares=shares,
        machine=machine,
    )


def _costs(deployment: Deployment) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.costs"],
        cwd=ROOT,
        env=deployment.env,
        input=json.dumps(deployment.seed_data) + "\n",
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise processes.Problem(f"The costs could not be counted: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])
