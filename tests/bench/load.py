"""Loads: processes of their own, which are told what to do, say that they are ready, and answer."""

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from tests.bench.deployment import ROOT, World

import processes  # isort: skip


def run(
    world: World,
    module: str,
    spec: dict[str, Any],
    *,
    as_it_begins: Callable[[], object] = lambda: None,
) -> dict[str, Any]:
    """The answer, and what the servers used of the processors meanwhile."""
    load = processes.start(
        [sys.executable, "-m", module],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with processes.running(load):
        _tell(load, json.dumps(spec))
        if load.stdout.readline().strip() != "ready":
            raise processes.Problem(f"{module} did not get ready.")
        as_it_begins()
        before = world.cpu()
        _tell(load, "go")
        line = load.stdout.readline()
        after = world.cpu()
    if not line:
        raise processes.Problem(f"{module} broke.")
    return json.loads(line) | {"cpu": {name: after[name] - before[name] for name in after}}


def _tell(load: processes.Program, line: str) -> None:
    load.stdin.write(line + "\n")
    load.stdin.flush()
