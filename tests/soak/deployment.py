"""What the people talk through: two services, the engine on a file behind a proxy, Redis and
PostgreSQL. All of it on this machine, all of it gone with us."""

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
from tests.soak.programs import ROOT, Managed, ManagedStore, again, free_port, wait_for
from tests.soak.proxy import Proxy

# From here on the scripts are found by name.
import engine  # isort: skip
import processes  # isort: skip
import second_engine  # isort: skip
import services  # isort: skip
import test_environment  # isort: skip

TABLE = "soak"
CLOCK_AHEAD = 60.0
ENGINES = ("dynoxide", "extenddb")


@dataclass(frozen=True)
class Plot:
    """Who is in which thread, and by which cookies people are known: made by `seed`."""

    threads: dict[str, list[str]]
    cookies: dict[str, list[str]]


@dataclass
class World:
    folder: Path
    proxy: Proxy
    engine: Managed
    redis: Managed
    postgres: Managed
    services: list[Managed]
    plot: Plot
    env: dict[str, str]
    credentials: dict[str, str]

    @property
    def programs(self) -> list[Managed]:
        return [self.engine, self.redis, self.postgres, *self.services]

    @property
    def engine_endpoint(self) -> str:
        """Past the proxy: what is really stored."""
        return f"http://127.0.0.1:{self.engine.port}"

    @property
    def surprises(self) -> list[str]:
        return [surprise for program in self.programs for surprise in program.surprises]


@contextmanager
def running_world(
    background: Background,
    *,
    pairs: int,
    groups: int,
    seed: int,
    keep: Path | None,
    engine_name: str = ENGINES[0],
) -> Iterator[World]:
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
        plot = _seed(env, pairs, groups, seed)
        both = [_service("a", folder, env), _service("b", folder, env, CLOCK_AHEAD)]
        for service in both:
            stack.callback(service.stop)
            service.start()
        wait_for(both)
        yield World(
            folder, proxy, *stores, services=both, plot=plot, env=env, credentials=credentials
        )


def _engine(folder: Path, name: str) -> tuple[Managed, dict[str, str]]:
    log = folder / "engine.log"
    if name == "extenddb":
        place = folder / "extenddb"
        first = second_engine.start(place, log=log)
        begin = again(first.program, log, cwd=place, env=second_engine.environment(place))
    else:
        first = engine.start(log=log, database=folder / "engine.db")
        begin = again(first.program, log)
    return _adopt(ManagedStore("engine", begin, first.port), first.program), first.credentials


def _redis(folder: Path) -> Managed:
    first = services.start_valkey(folder)
    begin = again(first.program, folder / "valkey.log")
    return _adopt(ManagedStore("Redis", begin, urlsplit(first.url).port or 0), first.program)


def _postgres(folder: Path) -> Managed:
    first = services.start_postgres(folder)
    owner = {} if os.geteuid() else _owner(folder / "postgres")
    begin = again(
        first.program, folder / "postgres.log", cwd=folder, parent_death_signal=3, **owner
    )
    store = ManagedStore("PostgreSQL", begin, urlsplit(first.url).port or 0)
    store.stop_signal = first.stop_signal
    return _adopt(store, first.program)


def _owner(data: Path) -> dict:
    """As `services` does it: root runs PostgreSQL as whoever owns its files."""
    owner = data.stat()
    return {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []}


def _adopt(store: ManagedStore, program: processes.Program) -> ManagedStore:
    store.program = program
    return store


def _environment(
    folder: Path, proxy: Proxy, redis: Managed, postgres: Managed, credentials: dict[str, str]
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
        # Its people write faster than people.
        "PARLEY_MESSAGE_LIMIT": "1000000,1000000",
        "PARLEY_WRITE_LIMIT": "1000000,1000000",
        "PARLEY_COMMAND_LIMIT": "1000000,1000000",
        "PARLEY_PANEL_LIMIT": "1000000,1000000",
    }


def _seed(env: dict[str, str], pairs: int, groups: int, seed: int) -> Plot:
    command = [sys.executable, "-m", "tests.soak.seed", str(pairs), str(groups), str(seed)]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    if done.returncode != 0:
        raise processes.Problem(f"The people could not be made: {done.stderr[-2000:]}")
    return Plot(**json.loads(done.stdout.splitlines()[-1]))


def _service(name: str, folder: Path, env: dict[str, str], ahead: float = 0.0) -> Managed:
    port = free_port()
    if ahead:
        clock = os.pathsep.join(filter(None, [f"{ROOT}/tests/soak/clock", env.get("PYTHONPATH")]))
        env = env | {"PYTHONPATH": clock, "SOAK_CLOCK_AHEAD": str(ahead)}
    command = [sys.executable, "-m", "messaging_site.server", "--port", str(port)]

    def begin() -> processes.Program:
        with (folder / f"service-{name}.log").open("ab") as log:
            log.write(f"--- started at {time.time():.3f}\n".encode())
            log.flush()
            return processes.start(command, cwd=ROOT, env=env, stdout=log, stderr=subprocess.STDOUT)

    return Managed(f"service {name}", begin, port)


def _keep_logs(folder: Path, keep: Path) -> None:
    keep.mkdir(parents=True, exist_ok=True)
    for log in folder.glob("*.log"):
        shutil.copy(log, keep / log.name)
