"""Processes that are killed and restarted at the same address."""

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

# The time a service has for a graceful shutdown before it is killed and reported.
STOP_SECONDS = 30.0
START_SECONDS = 60.0
# Below the ephemeral range, so that no outgoing connection takes the port during a restart.
PORTS = range(20_000, 32_000)


class ManagedProcess:
    def __init__(
        self, name: str, start_command: Callable[[], processes.Program], port: int
    ) -> None:
        self.name, self.port = name, port
        self._start_command = start_command
        self.program: processes.Program | None = None
        self._restart_at = 0.0
        self._stop_deadline = 0.0
        # Descriptions of unexpected behaviour.
        self.problems: list[str] = []
        self.stop_signal = signal.SIGTERM

    def start(self) -> None:
        self.program = self._start_command()
        self._restart_at = self._stop_deadline = 0.0

    def kill(self, downtime: float = 0.0) -> None:
        """Kills the process without a graceful shutdown."""
        if self.is_running:
            assert self.program is not None
            self.program.kill()
            self.program.wait()
        self._restart_at = time.monotonic() + downtime

    def request_stop(self) -> None:
        if self.is_running:
            assert self.program is not None
            self.program.terminate()
            self._stop_deadline = time.monotonic() + STOP_SECONDS
        self._restart_at = time.monotonic()

    @property
    def is_running(self) -> bool:
        return self.program is not None and self.program.poll() is None

    def supervise(self) -> None:
        """Restarts the process when its downtime is over; called several times a second."""
        now = time.monotonic()
        if self.is_running:
            if self._stop_deadline and now > self._stop_deadline:
                self.problems.append(f"{self.name} did not stop within {STOP_SECONDS}s")
                self.kill()
        elif not self._restart_at:
            assert self.program is not None
            self.problems.append(f"{self.name} exited unexpectedly with {self.program.returncode}")
            self._restart_at = now + 1
        elif now >= self._restart_at:
            self.start()

    @property
    def is_reachable(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return True
        except OSError:
            return False

    def stop(self) -> None:
        if self.program is not None:
            processes.stop(self.program, with_signal=self.stop_signal, timeout=5)


class ManagedStore(ManagedProcess):
    """A store, which may fail to start while its port or memory is still in use, and is retried."""

    def supervise(self) -> None:
        if not self.is_running and not self._restart_at:
            self._restart_at = time.monotonic() + 0.2
        super().supervise()


def restart_command(program: processes.Program, log: Path, **options: Any) -> Callable[[], Any]:
    """Returns a function that starts the same command again and appends to its log."""

    def start_command() -> processes.Program:
        with log.open("ab") as output:
            return processes.start(program.args, stdout=output, stderr=subprocess.STDOUT, **options)

    return start_command


def wait_for(programs: list[ManagedProcess]) -> None:
    def are_up() -> bool:
        if all(program.is_running and program.is_reachable for program in programs):
            return True
        for program in programs:
            program.supervise()
        return False

    if not poll_until(are_up, START_SECONDS, interval=0.1):
        names = ", ".join(program.name for program in programs if not program.is_reachable)
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
