"""The short version of script/soak: everything is killed and broken at least once."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.soak.checker import FAULTS
from tests.soak.proxy import FAULTS as INJECTED
from tests.wait import wait_until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
KILLED = ("service a", "service b", "engine", "Redis", "PostgreSQL")


def test_nothing_is_lost_doubled_or_wrong_while_everything_is_killed_in_turn(tmp_path):
    figures = tmp_path / "soak.json"
    done = subprocess.run(
        [sys.executable, "-m", "tests.soak", "--minutes", "1", "--pairs", "8", "--json", figures],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    report = json.loads(figures.read_text())
    assert report["faults"] == dict.fromkeys(FAULTS, 0)
    assert report["stored"] >= report["acknowledged"] > 50
    assert report["delivered"] > report["stored"]
    # It proves nothing unless it happened.
    assert all(report["done"][f"kill {name}"] for name in KILLED)
    assert all(report["done"][fault] for fault in INJECTED)
    assert sum(report["injected"].values()) > 20
    assert report["reconnects"] > report["devices"]
    assert report["counts"]["hellos from a wrong clock"] > 5
    for what in ("deals accepted", "deals signed"):
        assert report["counts"].get(what), what


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_takes_everything_with_it_when_it_is_ended(number):
    soak = subprocess.Popen(
        [ROOT / "script" / "soak", "--minutes", "5", "--pairs", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert soak.stdout is not None
        assert any("devices talk" in line for line in soak.stdout)
        # What was killed already is about to be started again.
        wait_until(lambda: len(_children(soak.pid)) > len(KILLED), 90)
        started = _children(soak.pid)
        os.kill(soak.pid, number)
        soak.wait(30)
        wait_until(lambda: not any(_lives(process) for process in started), 90)
    finally:
        soak.kill()
        soak.wait()


def _children(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
