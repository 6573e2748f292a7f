"""Work on what strangers sent is done in a process of its own: it has a time limit, it may use only
so much memory, and if it dies of what it was given, the next one gets a new process.

A program reads one JSON object a line and answers each with one; see files/images/encode.py.
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
    """It died or took too long; whatever it was given cannot be judged."""


class WorkersBusy(Exception):
    """No worker became free in time."""


class Worker:
    def __init__(self, module: str, *, niceness: int = 0) -> None:
        self.module, self.niceness = module, niceness
        self._process: subprocess.Popen[bytes] | None = None
        # One after the other: two pictures at once would be twice the memory.
        self._lock = threading.Lock()

    def run(self, question: dict[str, Any], *, seconds: float) -> dict[str, Any]:
        with self._lock:
            process = self._running()
            try:
                answer = self._exchange(process, question, time.monotonic() + seconds)
            except (OSError, ValueError, TimeoutError) as error:
                self._end()
                log.warning("worker_failed", module=self.module, why=type(error).__name__)
                raise WorkerFailed(self.module) from error
            return answer

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
                # Nothing of ours that it could give away: no secret, no address of a store.
                env={"PYTHONDONTWRITEBYTECODE": "1"},
            )
        return self._process

    def _exchange(
        self, process: subprocess.Popen[bytes], question: dict[str, Any], deadline: float
    ) -> dict[str, Any]:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(question).encode() + b"\n")
        process.stdin.flush()
        said = b""
        while not said.endswith(b"\n"):
            said += _read_some(process.stdout.fileno(), deadline)
        answer: dict[str, Any] = json.loads(said)
        return answer

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
    """Several workers of one kind. The last one used is used next, so that few are started."""

    def __init__(self, module: str, *, size: int, niceness: int = 0) -> None:
        self.size = size
        self._free: LifoQueue[Worker] = LifoQueue()
        for _ in range(size):
            self._free.put(Worker(module, niceness=niceness))

    def run(
        self, question: dict[str, Any], *, seconds: float, queue_seconds: float
    ) -> dict[str, Any]:
        """The answer of the next free worker, for which it waits `queue_seconds` at most."""
        try:
            worker = self._free.get(timeout=queue_seconds)
        except Empty:
            raise WorkersBusy from None
        try:
            return worker.run(question, seconds=seconds)
        finally:
            self._free.put(worker)

    @property
    def is_busy(self) -> bool:
        return self._free.qsize() < self.size

    @property
    def pid(self) -> int | None:
        """Of the worker that is used next."""
        return self._free.queue[-1].pid if self._free.queue else None

    @contextlib.contextmanager
    def reserved(self) -> Iterator[None]:
        """Keeps every worker from others for a while."""
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
        raise ValueError("it has gone")
    return some
