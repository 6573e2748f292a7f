"""A running server of the comparison."""

import os
import pwd
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

CONVERSATIONS = 20
# Below this share of a core a server counts as idle; Parley's search index uses up to 0.05.
IDLE_SHARE = 0.08
MIN_GAP_SECONDS = 2.0
MAX_GAP_SECONDS = 20.0


@dataclass
class Server:
    name: str
    # The clients that the driver uses, and the accounts of sender and recipient for each of them.
    protocol: str
    conversations: list[list[dict[str, Any]]]
    # All processes, by name; descendants are included.
    programs: dict[str, int]
    # The number of messages in the archive.
    count_stored: Callable[[], float]
    # Whether the archive also contains read receipts.
    archives_marks: bool = False

    def cpu(self) -> dict[str, float]:
        """The seconds of processor time that each program has used so far."""
        return {name: cpu_of_tree(pid) for name, pid in self.programs.items()}

    def wait_until_idle(self) -> None:
        """Waits for the work after a load, such as indexing, which would disturb the next one."""
        time.sleep(MIN_GAP_SECONDS - 1)
        deadline = time.monotonic() + MAX_GAP_SECONDS
        while self._share_of_core() > IDLE_SHARE and time.monotonic() < deadline:
            pass

    def _share_of_core(self) -> float:
        before = sum(self.cpu().values())
        time.sleep(1.0)
        return sum(self.cpu().values()) - before


def cpu_of_tree(pid: int) -> float:
    """The processor time of a process and its descendants, also of those that have ended."""
    root = psutil.Process(pid)
    # The root last: a child that ends meanwhile is added to its parent's time.
    return sum(_cpu(process) for process in [*root.children(recursive=True), root])


def _cpu(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return times.user + times.system + times.children_user + times.children_system


def unprivileged(folder: Path) -> dict[str, Any]:
    """Options of a process that writes only to this folder: root runs it as the user `nobody`."""
    folder.mkdir(exist_ok=True)
    options: dict[str, Any] = {"cwd": folder, "env": os.environ | {"HOME": str(folder)}}
    if os.geteuid() != 0:
        return options
    nobody = pwd.getpwnam("nobody")
    for path in [folder, *folder.rglob("*")]:
        os.chown(path, nobody.pw_uid, nobody.pw_gid)
    return options | {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
