"""Stores of one's own, to be killed and brought back."""

import signal
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "script"))

import engine  # noqa: E402
import processes  # noqa: E402
import services  # noqa: E402


class OwnRedis:
    """A Redis that only this test uses; it comes back where it was, and empty."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.service = services.start_valkey(folder)
        self.url = self.service.url

    def kill(self) -> None:
        self.service.program.kill()
        self.service.program.wait()

    def start_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        port = int(self.url.split(":")[-1].split("/")[0])
        monkeypatch.setattr(processes, "free_port", lambda: port)
        self.service = services.start_valkey(self.folder)

    def hang(self) -> None:
        self.service.program.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self.service.program.send_signal(signal.SIGCONT)


class OwnEngine:
    """A DynamoDB engine that only this test uses; it comes back where it was, with all it had."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.engine = self._start()
        self.endpoint = self.engine.endpoint

    def _start(self) -> engine.Engine:
        return engine.start(log=self.folder / "engine.log", database=self.folder / "engine.db")

    def kill(self) -> None:
        self.engine.program.kill()
        self.engine.program.wait()

    def start_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
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
