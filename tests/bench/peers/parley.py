"""Parley as one process with its embedded stores, and as two on PostgreSQL and Redis."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from tests.bench import deployment
from tests.bench.peers.server import Server

import processes  # isort: skip
import services  # isort: skip

SEED, ARCHIVE = "tests.bench.peers.parley_seed", "tests.bench.peers.parley_archive"


@contextmanager
def one_process() -> Iterator[Server]:
    with (
        deployment.running_stores() as stores,
        _running_services("Parley", ["service"], stores) as server,
    ):
        yield server


@contextmanager
def two_processes() -> Iterator[Server]:
    with deployment.running_stores() as stores:
        postgres = services.start_postgres(stores.folder, services.DURABLE)
        stores.env |= {"DATABASE_URL": postgres.url, "PARLEY_HTTPS": "0"}
        names = ["service a", "service b"]
        with (
            postgres.running(),
            _running_services("Parley, two processes", names, stores) as server,
        ):
            server.programs["PostgreSQL"] = postgres.program.pid
            yield server


@contextmanager
def _running_services(title: str, names: list[str], stores: deployment.Stores) -> Iterator[Server]:
    threads = deployment.seed(stores.env, SEED)
    programs, ports = {"Redis": stores.redis.pid, "engine": stores.engine.program.pid}, []
    with ExitStack() as stack:
        for name in names:
            service, port = deployment.serve(stores.folder / f"{name}.log", stores.env)
            stack.enter_context(processes.running(service))
            programs[name] = service.pid
            ports.append(port)
        yield Server(
            name=title,
            protocol="parley",
            conversations=[_accounts(number, each, ports) for number, each in enumerate(threads)],
            programs=programs,
            count_stored=lambda: _count_stored([each["thread"] for each in threads], stores.env),
        )


def _accounts(number: int, thread: dict[str, Any], ports: list[int]) -> list[dict[str, Any]]:
    """With two ports, half of the conversations, also the first one, are between two processes."""
    spread = [ports[number % len(ports)], ports[(number // 2 + 1) % len(ports)]]
    return [
        {"port": port, "cookie": cookie, "thread": thread["thread"]}
        for port, cookie in zip(spread, thread["cookies"], strict=True)
    ]


def _count_stored(threads: list[str], env: dict[str, str]) -> int:
    done = subprocess.run(
        [sys.executable, "-m", ARCHIVE],
        cwd=deployment.ROOT,
        env=env,
        input=json.dumps(threads),
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise processes.Problem(f"The messages could not be counted: {done.stderr[-2000:]}")
    return int(done.stdout)
