"""Static checks: types, format, lint, templates, import layers and migrations."""

import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import bootstrap
from results import RunResults
from terminal import say

PYTHON = str(bootstrap.PYTHON)
# The longest first: it takes as long as all the others together.
CHECKS = {
    "types": [PYTHON, "-m", "mypy", "."],
    "format": [PYTHON, "-m", "ruff", "format", "--check", "."],
    "lint": [PYTHON, "-m", "ruff", "check", "."],
    "templates": [str(bootstrap.VENV / "bin" / "djade"), "--check", "--target-version", "5.2"],
    "import layers": [PYTHON, "-c", "from importlinter.cli import lint_imports_command as c; c()"],
    "migrations": [PYTHON, "manage.py", "makemigrations", "--check"],
}


def run_checks(results: RunResults, env: dict[str, str]) -> None:
    CHECKS["templates"] += sorted(str(path) for path in bootstrap.ROOT.glob("templates/**/*.html"))
    with ThreadPoolExecutor(2) as pool:
        passed = pool.map(lambda name: _passes(name, CHECKS[name], env), CHECKS)
        for name, ok in zip(CHECKS, passed, strict=True):
            results.add_check(name, ok=ok)


def _passes(name: str, command: list[str], env: dict[str, str]) -> bool:
    began = time.monotonic()
    done = subprocess.run(
        command,
        env=env,
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
