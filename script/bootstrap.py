"""Installs the pinned Python packages into the clone's own .venv."""

import fcntl
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import processes
from terminal import Problem, Progress, say

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"

# Debian's Python has no pip; this vendored one needs no root to install.
PIP = ROOT / "script" / "vendor" / "pip-26.3-py3-none-any.whl"

SERVER = ("requirements.txt",)
TESTS = ("requirements.txt", "requirements-dev.txt")


def install(files: tuple[str, ...]) -> None:
    """Compares a hash only, if the packages are installed already."""
    if _is_installed(files):
        return
    with exclusive():
        if not _is_installed(files):
            _make_venv()
            _install_packages(files)
            _stamp(files).write_text(_fingerprint(files))


@contextmanager
def exclusive() -> Iterator[None]:
    """Serialises the set-up of this clone between concurrent commands."""
    try:
        VENV.mkdir(exist_ok=True)
        lock = (VENV / "set-up.lock").open("w")
    except OSError as error:
        raise Problem(f"{VENV} cannot be written to: {error.strerror}.") from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Another command is setting up this clone; waiting for it ...")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _is_installed(files: tuple[str, ...]) -> bool:
    stamp = _stamp(files)
    return PYTHON.exists() and stamp.exists() and stamp.read_text() == _fingerprint(files)


def _stamp(files: tuple[str, ...]) -> Path:
    return VENV / f"{files[-1]}.sha256"


def _fingerprint(files: tuple[str, ...]) -> str:
    """Covers the requirements and the Python behind .venv, which the system may replace."""
    parts = [(ROOT / name).read_bytes() for name in files]
    return hashlib.sha256(b"".join(parts) + os.fsencode(os.path.realpath(PYTHON))).hexdigest()


# --- The virtual environment --------------------------------------------------------------------


def _make_venv() -> None:
    if _venv_works():
        return
    say("Making a Python environment in .venv ...")
    _remove_broken_venv()
    if importlib.util.find_spec("ensurepip") is None:
        _make_venv_without_ensurepip()
    else:
        _run([sys.executable, "-m", "venv", VENV], "The Python environment cannot be made")


def _venv_works() -> bool:
    check = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
    return (
        PYTHON.exists()
        and subprocess.run([PYTHON, "-c", check], capture_output=True).returncode == 0
    )


def _remove_broken_venv() -> None:
    for path in VENV.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name != "set-up.lock":
            path.unlink()


def _make_venv_without_ensurepip() -> None:
    _run(
        [sys.executable, "-m", "venv", "--without-pip", VENV],
        "The Python environment cannot be made",
    )
    _run([PYTHON, PIP / "pip", "install", "--no-index", PIP], "pip cannot be installed")


# --- The packages -------------------------------------------------------------------------------


def _install_packages(files: tuple[str, ...]) -> None:
    progress = Progress("Installing packages (a minute or two the first time)")
    total = sum(_pins(name) for name in files)
    command = [PYTHON, "-m", "pip", "install", "--no-input", "--progress-bar", "off"]
    pip = processes.start(
        [*command, "--disable-pip-version-check", "-r", ROOT / files[-1]],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    with processes.running(pip):
        output = _follow(pip, progress, total)
    if pip.returncode != 0:
        say("\n" + "".join(output[-8:]).rstrip())
        raise Problem("The packages could not be installed: see the output of pip above.")
    progress.done()


def _follow(pip: processes.Program, progress: Progress, total: int) -> list[str]:
    output, collected = [], 0
    assert pip.stdout is not None
    for line in pip.stdout:
        output.append(line)
        if match := re.match(r"Collecting (\S+?)(\[|==| |$)", line):
            collected += 1
            progress.show(f"{collected} of {total}: {match[1]}", in_log=collected % 10 == 0)
        elif line.startswith("Installing collected packages"):
            progress.show("unpacking", in_log=True)
    pip.wait()
    return output


def _pins(name: str) -> int:
    return len(re.findall(r"^[\w.-]+(\[.*\])?==", (ROOT / name).read_text(), re.MULTILINE))


def _run(command: processes.Command, problem: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().split("\n")
        raise Problem(f"{problem}: {lines[-1]}")
