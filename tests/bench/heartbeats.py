"""The cost of open pages: opening, heartbeats, closing. `python -m tests.bench.heartbeats` measures
only this."""

import argparse
import json
import subprocess
import sys
import time
from typing import Any

from tests.bench.deployment import ROOT, Deployment, running_deployment
from tests.bench.sockets import FIRST, continue_load, socket_load, wait_until_idle, wait_until_open

import processes  # isort: skip
import terminal  # isort: skip

# Pings of each socket in a row, which cost the same as usual ones without the waiting.
PINGS_IN_A_ROW = 20


def measure(deployment: Deployment, *, count: int, seconds: float) -> dict[str, float]:
    """Every user has two pages, which show a thread and ping every 25 seconds."""
    spec = {"what": "heartbeats", "port": deployment.port, "threads": _seed(deployment, count // 4)}
    spec |= {"first": FIRST, "count": count, "pings": PINGS_IN_A_ROW}
    wait_until_idle(deployment)
    without = _use(deployment, seconds)
    with socket_load(spec) as load:
        wait_until_open(load)
        opening = _cpu_of(deployment, load)
        showing = _cpu_of(deployment, load)
        # The first heartbeats, which read undelivered threads once more.
        time.sleep(30)
        used = _use(deployment, seconds)
        ping = _cpu_of(deployment, load)
        started_at, before_closing = time.monotonic(), deployment.cpu()["service"]
        continue_load(load)
        alive = int(load.stdout.readline())
    wait_until_idle(deployment)
    return {
        "sockets": alive - FIRST,
        "open_ms": 1000 * opening / count,
        "show_ms": 1000 * showing / count,
        "cores": used["service"],
        "cores_without_sockets": without["service"],
        "engine_cores": used["engine"] - without["engine"],
        "redis_cores": used["Redis"] - without["Redis"],
        "ping_ms": 1000 * ping / (count + FIRST) / PINGS_IN_A_ROW,
        "close_ms": 1000 * (deployment.cpu()["service"] - before_closing) / count,
        "close_seconds": time.monotonic() - started_at,
    }


def _seed(deployment: Deployment, pairs: int) -> list[dict[str, Any]]:
    command = ["manage.py", "seed_load", "--pairs", str(pairs), "--messages", "1"]
    done = subprocess.run(
        [sys.executable, *command, "--json", "--force"],
        cwd=ROOT,
        env=deployment.env,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise processes.Problem(f"The users could not be created: {done.stderr[-2000:]}")
    made = json.loads(done.stdout)["pairs"]
    return [
        {"thread": pair["thread"], "cookies": [pair["buyer"]["cookie"], pair["seller"]["cookie"]]}
        for pair in made
    ]


def _use(deployment: Deployment, seconds: float) -> dict[str, float]:
    """The share of a core that each process uses."""
    before = deployment.cpu()
    time.sleep(seconds)
    return {name: (value - before[name]) / seconds for name, value in deployment.cpu().items()}


def _cpu_of(deployment: Deployment, load: processes.Program) -> float:
    """The service's processor time until the load reports that it has done its next part."""
    before = deployment.cpu()["service"]
    continue_load(load)
    wait_until_open(load)
    return deployment.cpu()["service"] - before


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=75.0)
    options = parser.parse_args()
    with running_deployment(messages=100, rows=100) as deployment:
        found = measure(deployment, count=options.count, seconds=options.seconds)
    terminal.say(json.dumps({name: round(value, 4) for name, value in found.items()}, indent=2))
    return 0


if __name__ == "__main__":
    terminal.run(lambda _: main())
