"""A short run of script/soak in which every fault occurs at least once."""

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


def test_no_data_is_lost_duplicated_or_wrong_while_processes_are_killed(tmp_path):
    report_path = tmp_path / "soak.json"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.soak",
            "--minutes",
            "0.75",
            "--pairs",
            "8",
            "--json",
            report_path,
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    report = json.loads(report_path.read_text())
    assert report["faults"] == dict.fromkeys(FAULTS, 0)
    assert report["stored"] >= report["acknowledged"] > 50
    assert report["delivered"] > report["stored"]
    # Every fault must have occurred.
    assert all(report["done"][f"kill {name}"] for name in KILLED)
    assert all(report["done"][fault] for fault in INJECTED)
    assert sum(report["injected"].values()) > 20
    assert report["reconnects"] > report["devices"]
    assert report["counts"]["hellos from a wrong clock"] > 5
    for what in ("deals accepted", "deals signed"):
        assert report["counts"].get(what), what


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_all_processes_end_with_the_soak_test(number):
    soak = subprocess.Popen(
        [ROOT / "script" / "soak", "--minutes", "5", "--pairs", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert soak.stdout is not None
        assert any("devices talk" in line for line in soak.stdout)
        # Processes that are down will be restarted soon.
        wait_until(lambda: len(_children(soak.pid)) > len(KILLED), 90)
        started = _children(soak.pid)
        os.kill(soak.pid, number)
        soak.wait(30)
        wait_until(lambda: not any(_is_alive(process) for process in started), 90)
    finally:
        soak.kill()
        soak.wait()


def _children(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
