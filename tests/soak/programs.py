"""Programs that are killed, and come back at the same address."""

import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.wait import poll_until

ROOT = Path(__file__).resolve().parents[2]
# The scripts import each other by bare name, since they run without any package installed.
sys.path.insert(0, str(ROOT / "script"))

import processes  # noqa: E402

# How long a service may take to leave when it is asked to; then it is killed, and that is told.
STOP_SECONDS = 30.0
START_SECONDS = 60.0
# Below the ports that outgoing connections get: one of those could take it while we are away.
PORTS = range(20_000, 32_000)


class Managed:
    def __init__(self, name: str, begin: Callable[[], processes.Program], port: int) -> None:
        self.name, self.port = name, port
        self._begin = begin
        self.program: processes.Program | None = None
        self._back_at = 0.0
        self._leave_by = 0.0
        # What it did that nobody asked for, in sentences.
        self.surprises: list[str] = []
        self.stop_signal = signal.SIGTERM

    def start(self) -> None:
        self.program = self._begin()
        self._back_at = self._leave_by = 0.0

    def kill(self, away: float = 0.0) -> None:
        """As the plug would: nothing is finished, nobody is told."""
        if self.is_running:
            assert self.program is not None
            self.program.kill()
            self.program.wait()
        self._back_at = time.monotonic() + away

    def ask_to_leave(self) -> None:
        if self.is_running:
            assert self.program is not None
            self.program.terminate()
            self._leave_by = time.monotonic() + STOP_SECONDS
        self._back_at = time.monotonic()

    @property
    def is_running(self) -> bool:
        return self.program is not None and self.program.poll() is None

    def tend(self) -> None:
        """Called several times a second: brings it back when its time has come."""
        now = time.monotonic()
        if self.is_running:
            if self._leave_by and now > self._leave_by:
                self.surprises.append(f"{self.name} did not leave within {STOP_SECONDS}s")
                self.kill()
        elif not self._back_at:
            assert self.program is not None
            self.surprises.append(f"{self.name} ended by itself with {self.program.returncode}")
            self._back_at = now + 1
        elif now >= self._back_at:
            self.start()

    @property
    def answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return True
        except OSError:
            return False

    def stop(self) -> None:
        if self.program is not None:
            processes.stop(self.program, with_signal=self.stop_signal, timeout=5)


class ManagedStore(Managed):
    """Of a store that does not come up at once (its port or its memory is still held) we think
    nothing: it is started again."""

    def tend(self) -> None:
        if not self.is_running and not self._back_at:
            self._back_at = time.monotonic() + 0.2
        super().tend()


def again(program: processes.Program, log: Path, **options: Any) -> Callable[[], Any]:
    """The same command once more, its words after those of before."""

    def begin() -> processes.Program:
        with log.open("ab") as output:
            return processes.start(program.args, stdout=output, stderr=subprocess.STDOUT, **options)

    return begin


def wait_for(programs: list[Managed]) -> None:
    def are_up() -> bool:
        if all(program.is_running and program.answers for program in programs):
            return True
        for program in programs:
            program.tend()
        return False

    if not poll_until(are_up, START_SECONDS, interval=0.1):
        names = ", ".join(program.name for program in programs if not program.answers)
        raise processes.Problem(f"Not up within {START_SECONDS:.0f} s: {names}")


def free_port() -> int:
    for port in random.sample(PORTS, 200):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise processes.Problem("No port is free.")
