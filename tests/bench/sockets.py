"""The cost of idle sockets, and the time until all sockets have reconnected."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.bench.deployment import ROOT, Deployment

import processes  # isort: skip

MISSED = 20
FIRST = 40


@contextmanager
def socket_load(spec: dict[str, Any]) -> Iterator[processes.Program]:
    program = processes.start(
        [sys.executable, "-m", "tests.bench.socket_load"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with processes.running(program):
        program.stdin.write(json.dumps(spec) + "\n")
        program.stdin.flush()
        yield program


def idle(deployment: Deployment, *, count: int, seconds: float) -> dict[str, float]:
    """The first sockets are not counted, since they also load code and caches that all share."""
    spec = {"what": "idle", "port": deployment.port, "threads": deployment.seed_data["talking"]}
    with socket_load(spec | {"first": FIRST, "count": count}) as load:
        wait_until_open(load)
        before = deployment.memory()
        continue_load(load)
        wait_until_open(load)
        memory, cpu = deployment.memory(), deployment.cpu()["service"]
        time.sleep(seconds)
        used = deployment.cpu()["service"] - cpu
        continue_load(load)
        alive = int(load.stdout.readline())
    wait_until_idle(deployment)
    return {
        "sockets": alive - FIRST,
        "bytes_each": (memory - before) / count,
        "cpu_share": used / seconds,
    }


def wait_until_open(load: processes.Program) -> None:
    if load.stdout.readline().strip() != "open":
        raise processes.Problem("The sockets could not be opened.")
    # Time for the presence events of the new connections.
    time.sleep(2)


def wait_until_idle(deployment: Deployment) -> None:
    """The service deletes the connection of each closed socket, which takes a few seconds."""
    for _ in range(60):
        before = deployment.cpu()["service"]
        time.sleep(1)
        if deployment.cpu()["service"] - before < 0.03:
            return
    raise processes.Problem("The service still handles sockets that were closed a minute ago.")


def continue_load(load: processes.Program) -> None:
    load.stdin.write("\n")
    load.stdin.flush()


def storm(deployment: Deployment, *, count: int) -> dict[str, float]:
    spec = {"what": "storm", "port": deployment.port, "threads": deployment.seed_data["talking"]}
    with socket_load(spec | {"count": count, "missed": MISSED}) as load:
        line = load.stdout.readline()
    if not line:
        raise processes.Problem("Not all sockets reconnected within two minutes.")
    return {"sockets": count, "missed": MISSED, **json.loads(line)}
