"""Parley as one process with its embedded stores, and as two on PostgreSQL and Redis."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from tests.bench import deployment
from tests.bench.peers.server import CONVERSATIONS, Server

import processes  # isort: skip
import services  # isort: skip

# The sizes of the other threads and inboxes that the seed creates.
MESSAGES, ROWS = 100, 15


@contextmanager
def one_process() -> Iterator[Server]:
    with deployment.running_deployment(messages=MESSAGES, rows=ROWS) as running:
        yield _server("Parley", running.seed_data, [running.port], running.programs, running.env)


@contextmanager
def two_processes() -> Iterator[Server]:
    with ExitStack() as stack:
        stores = stack.enter_context(deployment.running_stores())
        postgres = services.start_postgres(stores.folder, services.DURABLE)
        stack.enter_context(postgres.running())
        env = stores.env | {"DATABASE_URL": postgres.url, "PARLEY_HTTPS": "0"}
        seed_data = deployment.seed(env, MESSAGES, ROWS)
        programs = {
            "Redis": stores.redis.pid,
            "engine": stores.engine.program.pid,
            "PostgreSQL": postgres.program.pid,
        }
        ports = []
        for name in ("service a", "service b"):
            service, port = deployment.serve(stores.folder / f"{name}.log", env)
            stack.enter_context(processes.running(service))
            programs[name] = service.pid
            ports.append(port)
        yield _server("Parley, two processes", seed_data, ports, programs, env)


def _server(
    name: str,
    seed_data: dict[str, Any],
    ports: list[int],
    programs: dict[str, int],
    env: dict[str, str],
) -> Server:
    threads = seed_data["talking"]
    assert len(threads) == CONVERSATIONS
    return Server(
        name=name,
        protocol="parley",
        conversations=[_accounts(number, each, ports) for number, each in enumerate(threads)],
        programs=programs,
        count_stored=lambda: _count_stored([each["thread"] for each in threads], env),
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
        [sys.executable, "-m", "tests.bench.peers.parley_archive"],
        cwd=deployment.ROOT,
        env=env,
        input=json.dumps(threads),
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise processes.Problem(f"The messages could not be counted: {done.stderr[-2000:]}")
    return int(done.stdout)
