"""The embedded DynamoDB engine: one process on one file, or in memory."""

import subprocess
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

import engine_binary
import processes

# Nobody checks them, but every DynamoDB client wants some. Always the same ones: an engine may
# keep the tables of different keys and regions apart.
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "embedded",
    "AWS_SECRET_ACCESS_KEY": "embedded",
    "AWS_REGION": "eu-central-1",
    "AWS_DEFAULT_REGION": "eu-central-1",
}
NOT_FOR_THE_ENGINE = ("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SESSION_TOKEN")


class Engine(NamedTuple):
    program: processes.Program
    port: int
    credentials: dict[str, str] = CREDENTIALS

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def running(self) -> AbstractContextManager[processes.Program]:
        return processes.running(self.program)


def start(*, log: Path, database: Path | None = None, held_lock: int | None = None) -> Engine:
    """The engine inherits the lock on its file: as long as one lives, the other is held."""
    binary = engine_binary.find_or_install()
    file = ["--db-path", database] if database else []
    program, port = processes.start_on_free_port(
        "The embedded DynamoDB engine",
        lambda port: [binary, "serve", "--host", "127.0.0.1", "--port", str(port), *file],
        # It answers, and it is ours: anything that listens there would pass the health check.
        lambda port: b"listening" in log.read_bytes() and _is_healthy(binary, port),
        log=log,
        pass_fds=[held_lock] if held_lock is not None else [],
    )
    return Engine(program, port)


def _is_healthy(binary: Path, port: int) -> bool:
    command = [binary, "healthcheck", "--port", str(port)]
    return subprocess.run(command, capture_output=True).returncode == 0


def environment(
    base: dict[str, str], endpoint: str, credentials: dict[str, str] = CREDENTIALS
) -> dict[str, str]:
    """What a child process needs to use an engine that we started."""
    env = {name: value for name, value in base.items() if name not in NOT_FOR_THE_ENGINE}
    direct = ",".join(filter(None, [base.get("NO_PROXY") or base.get("no_proxy"), "127.0.0.1"]))
    return (
        env
        | credentials
        | {"PARLEY_DYNAMODB_ENDPOINT": endpoint, "NO_PROXY": direct, "no_proxy": direct}
    )
