"""The deployment under test: two services, the engine on a file behind a proxy, Redis and
PostgreSQL, all on this machine and stopped at the end of the run."""

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tests.soak.background import Background
from tests.soak.programs import (
    ROOT,
    ManagedProcess,
    ManagedStore,
    free_port,
    restart_command,
    wait_for,
)
from tests.soak.proxy import Proxy

# Importable only after `programs` has extended the path.
import engine  # isort: skip
import processes  # isort: skip
import second_engine  # isort: skip
import services  # isort: skip
import test_environment  # isort: skip

TABLE = "soak"
CLOCK_AHEAD = 60.0
ENGINES = ("dynoxide", "extenddb")


@dataclass(frozen=True)
class SeedData:
    """The participants of each thread and the session cookies of each user, created by `seed`."""

    threads: dict[str, list[str]]
    cookies: dict[str, list[str]]


@dataclass
class Deployment:
    folder: Path
    proxy: Proxy
    engine: ManagedProcess
    redis: ManagedProcess
    postgres: ManagedProcess
    services: list[ManagedProcess]
    seed_data: SeedData
    env: dict[str, str]
    credentials: dict[str, str]

    @property
    def programs(self) -> list[ManagedProcess]:
        return [self.engine, self.redis, self.postgres, *self.services]

    @property
    def engine_endpoint(self) -> str:
        """The address of the engine itself, without the proxy."""
        return f"http://127.0.0.1:{self.engine.port}"

    @property
    def problems(self) -> list[str]:
        return [problem for program in self.programs for problem in program.problems]


@contextmanager
def running_deployment(
    background: Background,
    *,
    pairs: int,
    groups: int,
    seed: int,
    keep: Path | None,
    engine_name: str = ENGINES[0],
) -> Iterator[Deployment]:
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="parley-soak-", dir=test_environment.base_folder()))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        if keep:
            stack.callback(_keep_logs, folder, keep)
        dynamodb, credentials = _engine(folder, engine_name)
        stores = [dynamodb, _redis(folder), _postgres(folder)]
        for store in stores:
            stack.callback(store.stop)
        proxy = Proxy(stores[0].port, seed)
        background.run(proxy.start())
        stack.callback(lambda: background.run(proxy.stop()))
        env = _environment(folder, proxy, *stores[1:], credentials)
        seed_data = _seed(env, pairs, groups, seed)
        both = [_service("a", folder, env), _service("b", folder, env, CLOCK_AHEAD)]
        for service in both:
            stack.callback(service.stop)
            service.start()
        wait_for(both)
        yield Deployment(
            folder,
            proxy,
            *stores,
            services=both,
            seed_data=seed_data,
            env=env,
            credentials=credentials,
        )


def _engine(folder: Path, name: str) -> tuple[ManagedProcess, dict[str, str]]:
    log = folder / "engine.log"
    if name == "extenddb":
        store_folder = folder / "extenddb"
        first = second_engine.start(store_folder, log=log)
        start_command = restart_command(
            first.program, log, cwd=store_folder, env=second_engine.environment(store_folder)
        )
    else:
        first = engine.start(log=log, database=folder / "engine.db")
        start_command = restart_command(first.program, log)
    return _adopt(
        ManagedStore("engine", start_command, first.port), first.program
    ), first.credentials


def _redis(folder: Path) -> ManagedProcess:
    first = services.start_valkey(folder)
    start_command = restart_command(first.program, folder / "valkey.log")
    return _adopt(
        ManagedStore("Redis", start_command, urlsplit(first.url).port or 0), first.program
    )


def _postgres(folder: Path) -> ManagedProcess:
    first = services.start_postgres(folder)
    owner = {} if os.geteuid() else _owner(folder / "postgres")
    start_command = restart_command(
        first.program, folder / "postgres.log", cwd=folder, parent_death_signal=3, **owner
    )
    store = ManagedStore("PostgreSQL", start_command, urlsplit(first.url).port or 0)
    store.stop_signal = first.stop_signal
    return _adopt(store, first.program)


def _owner(data: Path) -> dict:
    """Root runs PostgreSQL as the owner of its files, as `services` does."""
    owner = data.stat()
    return {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []}


def _adopt(store: ManagedStore, program: processes.Program) -> ManagedStore:
    store.program = program
    return store


def _environment(
    folder: Path,
    proxy: Proxy,
    redis: ManagedProcess,
    postgres: ManagedProcess,
    credentials: dict[str, str],
) -> dict[str, str]:
    plain = {
        name: value
        for name, value in os.environ.items()
        if name not in test_environment.SETTINGS and not name.startswith(("PARLEY_", "PYTEST_"))
    }
    return engine.environment(plain, f"http://127.0.0.1:{proxy.port}", credentials) | {
        "DJANGO_SETTINGS_MODULE": "messaging_site.settings",
        "DATABASE_URL": f"postgres://postgres@127.0.0.1:{postgres.port}/postgres",
        "REDIS_URL": f"redis://127.0.0.1:{redis.port}/0",
        "SECRET_KEY": secrets.token_urlsafe(64),
        "PARLEY_HTTPS": "0",
        "PARLEY_TABLE": TABLE,
        "PARLEY_DATA": str(folder / "data"),
        # Simulated users write faster than real ones.
        "PARLEY_MESSAGE_LIMIT": "1000000,1000000",
        "PARLEY_WRITE_LIMIT": "1000000,1000000",
        "PARLEY_COMMAND_LIMIT": "1000000,1000000",
        "PARLEY_PANEL_LIMIT": "1000000,1000000",
    }


def _seed(env: dict[str, str], pairs: int, groups: int, seed: int) -> SeedData:
    command = [sys.executable, "-m", "tests.soak.seed", str(pairs), str(groups), str(seed)]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    if done.returncode != 0:
        raise processes.Problem(f"The users could not be created: {done.stderr[-2000:]}")
    return SeedData(**json.loads(done.stdout.splitlines()[-1]))


def _service(name: str, folder: Path, env: dict[str, str], ahead: float = 0.0) -> ManagedProcess:
    port = free_port()
    if ahead:
        clock = os.pathsep.join(filter(None, [f"{ROOT}/tests/soak/clock", env.get("PYTHONPATH")]))
        env = env | {"PYTHONPATH": clock, "SOAK_CLOCK_AHEAD": str(ahead)}
    command = [sys.executable, "-m", "messaging_site.server", "--port", str(port)]

    def start_command() -> processes.Program:
        with (folder / f"service-{name}.log").open("ab") as log:
            log.write(f"--- started at {time.time():.3f}\n".encode())
            log.flush()
            return processes.start(command, cwd=ROOT, env=env, stdout=log, stderr=subprocess.STDOUT)

    return ManagedProcess(f"service {name}", start_command, port)


def _keep_logs(folder: Path, keep: Path) -> None:
    keep.mkdir(parents=True, exist_ok=True)
    for log in folder.glob("*.log"):
        shutil.copy(log, keep / log.name)
