"""Runs a load in a separate process, which reads its task, prints `ready` and its result."""

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any, Protocol

from tests.bench.deployment import ROOT

import processes  # isort: skip


class Measured(Protocol):
    """The servers under load."""

    def cpu(self) -> dict[str, float]: ...


def run(
    deployment: Measured,
    module: str,
    spec: dict[str, Any],
    *,
    on_start: Callable[[], object] = lambda: None,
) -> dict[str, Any]:
    """Returns the result, with the processor time that the servers used meanwhile."""
    load = processes.start(
        [sys.executable, "-m", module],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with processes.running(load):
        _write_line(load, json.dumps(spec))
        if load.stdout.readline().strip() != "ready":
            raise processes.Problem(f"{module} did not become ready.")
        on_start()
        before = deployment.cpu()
        _write_line(load, "go")
        line = load.stdout.readline()
        after = deployment.cpu()
    if not line:
        raise processes.Problem(f"{module} failed.")
    return json.loads(line) | {"cpu": {name: after[name] - before[name] for name in after}}


def _write_line(load: processes.Program, line: str) -> None:
    load.stdin.write(line + "\n")
    load.stdin.flush()
