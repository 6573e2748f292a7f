"""Private stores that a test can kill and restart."""

import contextlib
import os
import pwd
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "script"))

import engine  # noqa: E402
import processes  # noqa: E402
import services  # noqa: E402
import test_environment  # noqa: E402


class OwnRedis:
    """A private Redis; after a restart it has the same port and no data."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.service = services.start_valkey(folder)
        self.url = self.service.url

    def kill(self) -> None:
        self.service.program.kill()
        self.service.program.wait()

    def restart(self, monkeypatch: pytest.MonkeyPatch) -> None:
        port = int(self.url.split(":")[-1].split("/")[0])
        monkeypatch.setattr(processes, "free_port", lambda: port)
        self.service = services.start_valkey(self.folder)

    def hang(self) -> None:
        self.service.program.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.service.program.send_signal(signal.SIGCONT)


@contextmanager
def postgres_folder() -> Iterator[Path]:
    """A folder that PostgreSQL, which may run as the user `nobody`, can read."""
    parent = test_environment.base_folder()
    with tempfile.TemporaryDirectory(prefix="parley-postgres-", dir=parent) as folder:
        yield Path(folder)


class OwnPostgres:
    """A private PostgreSQL; after a restart it has the same port and its data."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.service = services.start_postgres(folder)
        self.url = self.service.url
        self._stopped: list[int] = []

    def hang(self) -> None:
        """Suspends all its processes: connections stay open without a response."""
        pid = self.service.program.pid
        listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True)
        self._stopped = [pid, *map(int, listed.stdout.split())]
        for process in self._stopped:
            os.kill(process, signal.SIGSTOP)

    def kill(self) -> None:
        self.service.program.send_signal(signal.SIGQUIT)
        self.service.program.wait()

    def resume(self) -> None:
        for process in self._stopped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)
        self._stopped = []
        if self.service.program.poll() is not None:
            self._restart()

    def _restart(self) -> None:
        owner: dict[str, Any] = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            owner = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        with (self.folder / "postgres.log").open("ab") as output:
            program = processes.start(
                self.service.program.args,
                parent_death_signal=signal.SIGQUIT,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                **owner,
            )
        self.service = self.service._replace(program=program)

    def stop(self) -> None:
        self.resume()
        processes.stop(self.service.program, with_signal=self.service.stop_signal)


class OwnEngine:
    """A private DynamoDB engine; after a restart it has the same port and its data."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.engine = self._start()
        self.endpoint = self.engine.endpoint

    def _start(self) -> engine.Engine:
        return engine.start(log=self.folder / "engine.log", database=self.folder / "engine.db")

    def kill(self) -> None:
        self.engine.program.kill()
        self.engine.program.wait()

    def restart(self, monkeypatch: pytest.MonkeyPatch) -> None:
        port = self.engine.port
        with monkeypatch.context() as patch:
            patch.setattr(processes, "free_port", lambda: port)
            self.engine = self._start()


@pytest.fixture
def own_engine(tmp_path):
    own = OwnEngine(tmp_path)
    yield own
    own.kill()


@pytest.fixture
def own_redis(tmp_path):
    redis = OwnRedis(tmp_path)
    yield redis
    redis.kill()
