"""Runs the embedded DynamoDB engine: one process on one file, or in memory."""

import subprocess
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

import engine_binary
import processes

# The engine does not check them, but every DynamoDB client needs some. They are constant, because
# an engine may separate tables by access key and region.
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "embedded",
    "AWS_SECRET_ACCESS_KEY": "embedded",
    "AWS_REGION": "eu-central-1",
    "AWS_DEFAULT_REGION": "eu-central-1",
}
REMOVED_VARIABLES = ("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SESSION_TOKEN")


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
    """The engine inherits the lock on its file, so the lock is held for as long as it runs."""
    binary = engine_binary.find_or_install()
    file = ["--db-path", database] if database else []
    program, port = processes.start_on_free_port(
        "The embedded DynamoDB engine",
        lambda port: [binary, "serve", "--host", "127.0.0.1", "--port", str(port), *file],
        # The log proves that it is our engine: any listener would pass the health check.
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
    """The variables with which a child process uses an engine that we started."""
    env = {name: value for name, value in base.items() if name not in REMOVED_VARIABLES}
    direct = ",".join(filter(None, [base.get("NO_PROXY") or base.get("no_proxy"), "127.0.0.1"]))
    return (
        env
        | credentials
        | {"PARLEY_DYNAMODB_ENDPOINT": endpoint, "NO_PROXY": direct, "no_proxy": direct}
    )
