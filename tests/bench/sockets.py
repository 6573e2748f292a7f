"""What sockets cost that do nothing, and how long it takes until all are back."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.bench.deployment import ROOT, World

import processes  # isort: skip

MISSED = 20
FIRST = 40


@contextmanager
def _crowd(spec: dict[str, Any]) -> Iterator[processes.Program]:
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


def idle(world: World, *, count: int, seconds: float) -> dict[str, float]:
    """The first few stay open and are not counted: what is loaded and kept for all of them is no
    cost of each."""
    spec = {"what": "idle", "port": world.port, "threads": world.plot["talking"]}
    with _crowd(spec | {"first": FIRST, "count": count}) as crowd:
        _wait_until_open(crowd)
        before = world.memory()
        _go_on(crowd)
        _wait_until_open(crowd)
        memory, cpu = world.memory(), world.cpu()["service"]
        time.sleep(seconds)
        used = world.cpu()["service"] - cpu
        _go_on(crowd)
        alive = int(crowd.stdout.readline())
    return {
        "sockets": alive - FIRST,
        "bytes_each": (memory - before) / count,
        "cpu_share": used / seconds,
    }


def _wait_until_open(crowd: processes.Program) -> None:
    if crowd.stdout.readline().strip() != "open":
        raise processes.Problem("The sockets could not be opened.")
    # Until those who are told that somebody came were told.
    time.sleep(2)


def _go_on(crowd: processes.Program) -> None:
    crowd.stdin.write("\n")
    crowd.stdin.flush()


def storm(world: World, *, count: int) -> dict[str, float]:
    spec = {"what": "storm", "port": world.port, "threads": world.plot["talking"]}
    with _crowd(spec | {"count": count, "missed": MISSED}) as crowd:
        line = crowd.stdout.readline()
    if not line:
        raise processes.Problem("Not all came back within two minutes.")
    return {"sockets": count, "missed": MISSED, **json.loads(line)}
