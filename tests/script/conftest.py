"""Runs the scripts as separate processes on their own data."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.wait import wait_until

ROOT = Path(__file__).resolve().parents[2]
# The scripts import each other by module name, since they run before packages are installed.
sys.path.insert(0, str(ROOT / "script"))

OURS = ("DATABASE_URL", "REDIS_URL", "SECRET_KEY", "DJANGO_SETTINGS_MODULE")


def plain_environment() -> dict[str, str]:
    """The environment of a new terminal, without variables of this test run."""
    return {
        name: value
        for name, value in os.environ.items()
        if name not in OURS and not name.startswith(("PARLEY_", "AWS_", "PYTEST_", "DJANGO_"))
    }


def run(*command: str | Path, **options) -> subprocess.CompletedProcess[str]:
    options.setdefault("env", plain_environment())
    return subprocess.run(
        [str(part) for part in command],
        **options,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )


class Server:
    """script/server in the background."""

    def __init__(self, data: Path, *options: str, script: Path = ROOT / "script/server", env=None):
        self.data = data
        self.output = data.with_name(f"{data.name}.out")
        with self.output.open("w") as output:
            self.process = subprocess.Popen(
                [script, "--data", data, "--port", "0", *options],
                env=env or plain_environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def said(self) -> str:
        return self.output.read_text()

    def wait_until_it_listens(self, timeout: float = 300) -> "Server":
        ended = self.process.poll
        wait_until(lambda: "Press Ctrl-C to stop." in self.said() or ended() is not None, timeout)
        assert ended() is None, self.said()
        return self

    def state(self) -> dict:
        try:
            return json.loads((self.data / "state.json").read_text())
        except FileNotFoundError:
            return {}

    def end(self, number: int = signal.SIGINT) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(30)


def answers(url: str) -> bool:
    host, port = url.removeprefix("http://").split(":")
    try:
        socket.create_connection((host, int(port)), timeout=2).close()
    except ConnectionError:  # Refused, or reset by a server that is stopping.
        return False
    return True


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    servers = []

    def start(*options: str, data: Path = tmp_path / "data", **more) -> Server:
        servers.append(Server(data, *options, **more))
        return servers[-1]

    yield start
    for server in servers:
        server.end()


@pytest.fixture
def own_engine() -> dict[str, str]:
    """An environment that names the engine of this test run."""
    names = ("PARLEY_DYNAMODB_ENDPOINT", "PARLEY_TABLE")
    kept = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
    return plain_environment() | kept | {name: os.environ[name] for name in names}
