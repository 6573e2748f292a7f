"""Static checks: types, format, lint, templates, import layers and migrations.

They run in a process of their own beside the tests: `python script/checks.py RESULTS`.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import bootstrap
import processes
from results import RunResults
from terminal import say

PYTHON = str(bootstrap.PYTHON)
TEMPLATES = sorted(str(path) for path in bootstrap.ROOT.glob("templates/**/*.html"))
# The longest first: it takes as long as all the others together.
CHECKS = {
    "types": [PYTHON, "-m", "mypy", "."],
    "format": [PYTHON, "-m", "ruff", "format", "--check", "."],
    "lint": [PYTHON, "-m", "ruff", "check", "."],
    "templates": [
        *(str(bootstrap.VENV / "bin" / "djade"), "--check", "--target-version", "5.2"),
        *TEMPLATES,
    ],
    "import layers": [PYTHON, "-c", "from importlinter.cli import lint_imports_command as c; c()"],
    "migrations": [PYTHON, "manage.py", "makemigrations", "--check"],
}


@contextmanager
def in_background(env: dict[str, str], results: RunResults) -> Iterator[None]:
    """Runs the checks meanwhile; prints and counts them at the end."""
    folder = Path(env["PARLEY_DATA"]).parent
    report, log = folder / "checks.json", folder / "checks.log"
    with log.open("wb") as output:
        program = processes.start(
            [PYTHON, __file__, report],
            env=env,
            stdout=output,
            stderr=subprocess.STDOUT,
            parent_death_signal=signal.SIGTERM,
        )
    with processes.running(program):
        yield
        program.wait()
    say(f"\nChecks\n{log.read_text().rstrip()}\n")
    passed = json.loads(report.read_text()) if report.exists() else {"checks": False}
    for name, ok in passed.items():
        results.add_check(name, ok=ok)


def main(report: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        passed = list(pool.map(_passes, CHECKS))
    report.write_text(json.dumps(dict(zip(CHECKS, passed, strict=True))))


def _passes(name: str) -> bool:
    began = time.monotonic()
    done = subprocess.run(
        CHECKS[name],
        cwd=bootstrap.ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    ok = done.returncode == 0
    say(f"  {'ok' if ok else 'FAILED':<8}{name} ({time.monotonic() - began:.0f} s)")
    if not ok:
        say(done.stdout.rstrip())
    return ok


if __name__ == "__main__":
    # The checks are in the process group of this session leader, and stop with it.
    signal.signal(signal.SIGTERM, lambda *_: os.killpg(0, signal.SIGKILL))
    main(Path(sys.argv[1]))
