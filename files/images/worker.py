"""Runs programs on untrusted files in separate processes, with limits on time and memory. After a
crash the next request gets a new process.

A program reads one JSON object per line and writes one for each; see files/images/encode.py.
"""

import contextlib
import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from queue import Empty, LifoQueue
from typing import Any

import structlog

log = structlog.get_logger(__name__)
ROOT = Path(__file__).resolve().parents[2]


class WorkerFailed(Exception):
    """The process crashed or timed out."""


class WorkersBusy(Exception):
    """No worker became free in time."""


class Worker:
    def __init__(self, module: str, *, niceness: int = 0) -> None:
        self.module, self.niceness = module, niceness
        self._process: subprocess.Popen[bytes] | None = None
        # One request at a time: two images at once would need twice the memory.
        self._lock = threading.Lock()

    def run(self, request: dict[str, Any], *, seconds: float) -> dict[str, Any]:
        with self._lock:
            process = self._running()
            try:
                response = self._exchange(process, request, time.monotonic() + seconds)
            except (OSError, ValueError, TimeoutError) as error:
                self._end()
                log.warning("worker_failed", module=self.module, why=type(error).__name__)
                raise WorkerFailed(self.module) from error
            return response

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._end()
            self._process = subprocess.Popen(
                [sys.executable, "-m", self.module, str(self.niceness)],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                # No secrets and no addresses of stores in the environment.
                env={"PYTHONDONTWRITEBYTECODE": "1"},
            )
        return self._process

    def _exchange(
        self, process: subprocess.Popen[bytes], request: dict[str, Any], deadline: float
    ) -> dict[str, Any]:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
        received = b""
        while not received.endswith(b"\n"):
            received += _read_some(process.stdout.fileno(), deadline)
        response: dict[str, Any] = json.loads(received)
        return response

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


class WorkerPool:
    """Several workers of one program. The one used last is used next, so that few are started."""

    def __init__(self, module: str, *, size: int, niceness: int = 0) -> None:
        self.size = size
        self._free: LifoQueue[Worker] = LifoQueue()
        for _ in range(size):
            self._free.put(Worker(module, niceness=niceness))

    def run(
        self, request: dict[str, Any], *, seconds: float, queue_seconds: float
    ) -> dict[str, Any]:
        """Waits at most `queue_seconds` for a free worker."""
        try:
            worker = self._free.get(timeout=queue_seconds)
        except Empty:
            raise WorkersBusy from None
        try:
            return worker.run(request, seconds=seconds)
        finally:
            self._free.put(worker)

    @property
    def is_busy(self) -> bool:
        return self._free.qsize() < self.size

    @property
    def pid(self) -> int | None:
        """The process id of the worker that is used next."""
        return self._free.queue[-1].pid if self._free.queue else None

    @contextlib.contextmanager
    def reserved(self) -> Iterator[None]:
        """Takes all workers, so that other requests have to wait."""
        workers = [self._free.get() for _ in range(self.size)]
        try:
            yield
        finally:
            for worker in reversed(workers):
                self._free.put(worker)


def _read_some(pipe: int, deadline: float) -> bytes:
    readable, _, _ = select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))
    if not readable:
        raise TimeoutError
    some = os.read(pipe, 65536)
    if not some:
        raise ValueError("the process ended")
    return some
