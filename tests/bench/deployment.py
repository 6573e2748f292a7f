"""The service as in production: daphne, Redis and the engine on a file, one process each."""

import json
import os
import resource
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
# The scripts import each other by bare name, since they run without any package installed.
sys.path.insert(0, str(ROOT / "script"))

import engine  # noqa: E402
import processes  # noqa: E402
import services  # noqa: E402
import test_environment  # noqa: E402

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Deployment:
    folder: Path
    env: dict[str, str]
    engine: engine.Engine
    redis: processes.Program
    service: processes.Program
    port: int
    seed_data: dict[str, Any]

    @property
    def programs(self) -> dict[str, int]:
        return {
            "service": self.service.pid,
            "Redis": self.redis.pid,
            "engine": self.engine.program.pid,
        }

    def cpu(self) -> dict[str, float]:
        """The seconds of processor time that each process has used so far."""
        return {name: cpu_of(pid) for name, pid in self.programs.items()}

    def memory(self) -> int:
        """The memory of the service in bytes."""
        pages = Path(f"/proc/{self.service.pid}/statm").read_text().split()[1]
        return int(pages) * resource.getpagesize()


def cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


@dataclass
class Stores:
    folder: Path
    engine: engine.Engine
    redis: processes.Program
    env: dict[str, str]


@contextmanager
def running_deployment(*, messages: int, rows: int) -> Iterator[Deployment]:
    with running_stores() as stores:
        seed_data = seed(stores.env, "tests.bench.seed", messages, rows)
        service, port = serve(stores.folder / "service.log", stores.env)
        with processes.running(service):
            yield Deployment(
                stores.folder, stores.env, stores.engine, stores.redis, service, port, seed_data
            )


@contextmanager
def running_stores() -> Iterator[Stores]:
    with ExitStack() as stack:
        folder = stack.enter_context(temporary_folder())
        store = engine.start(log=folder / "engine.log", database=folder / "engine.db")
        stack.enter_context(store.running())
        redis = services.start_valkey(folder)
        stack.enter_context(redis.running())
        (folder / "data").mkdir()
        yield Stores(folder, store, redis.program, _environment(folder, store, redis))


@contextmanager
def temporary_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="parley-bench-", dir=test_environment.base_folder()))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _environment(folder: Path, store: engine.Engine, redis: services.Service) -> dict[str, str]:
    plain = {
        name: value
        for name, value in os.environ.items()
        if name not in test_environment.SETTINGS and not name.startswith(("PARLEY_", "PYTEST_"))
    }
    return engine.environment(plain, store.endpoint) | {
        "DJANGO_SETTINGS_MODULE": "messaging_site.settings",
        "REDIS_URL": redis.url,
        "SECRET_KEY": secrets.token_urlsafe(64),
        "PARLEY_TABLE": "bench",
        "PARLEY_DATA": str(folder / "data"),
        # No rate limits: refusals are not measured.
        "PARLEY_SOCKET_RATE": "1000000",
        "PARLEY_SOCKET_BURST": "1000000",
        "PARLEY_SOCKETS_PER_USER": "1000000",
        "PARLEY_MESSAGE_LIMIT": "1000000,1000000",
        "PARLEY_WRITE_LIMIT": "1000000,1000000",
        "PARLEY_COMMAND_LIMIT": "1000000,1000000",
        "PARLEY_PANEL_LIMIT": "1000000,1000000",
    }


def seed(env: dict[str, str], module: str, *sizes: int) -> Any:
    command = [sys.executable, "-m", module, *map(str, sizes)]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    if done.returncode != 0:
        raise processes.Problem(f"The users could not be created: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def serve(log_path: Path, env: dict[str, str]) -> tuple[processes.Program, int]:
    reading, writing = os.pipe()
    with log_path.open("wb") as log:
        service = processes.start(
            [sys.executable, "-m", "messaging_site.server", "--port", "0"]
            + ["--ready-fd", str(writing)],
            cwd=ROOT,
            env=env,
            pass_fds=[writing],
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    os.close(writing)
    with os.fdopen(reading) as ready:
        address = ready.readline().split()
    if not address:
        raise processes.Problem(f"The service did not start: {log_path.read_text()[-2000:]}")
    return service, int(address[1])
