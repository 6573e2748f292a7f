"""Runs the service as a separate process on the stores of this run."""

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from websockets.sync.client import ClientConnection, connect

from tests import databases

ROOT = Path(__file__).resolve().parent.parent
# Long enough for a busy machine.
TIMEOUT_SECONDS = 30


@dataclass(frozen=True)
class Account:
    id: str
    email: str
    password: str
    cookie: str


@dataclass(frozen=True)
class Pair:
    thread: str
    buyer: Account
    seller: Account


class Site:
    def __init__(self, folder: Path, env: dict[str, str]) -> None:
        self.folder, self.env = folder, env
        self.process: subprocess.Popen[bytes] | None = None
        self.module = "messaging_site.server"
        self.address = ""
        self._pairs: list[Pair] = []

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    def manage(self, *command: str) -> str:
        done = subprocess.run(
            [sys.executable, "manage.py", *command],
            cwd=ROOT,
            env=self.env,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self, port: int = 0) -> None:
        reading, writing = os.pipe()
        command = [sys.executable, "-m", self.module, "--ready-fd", str(writing)]
        self.process = subprocess.Popen(
            [*command, "--port", str(port)],
            cwd=ROOT,
            env=self.env,
            pass_fds=[writing],
            stderr=open(self.folder / "server.log", "ab"),  # noqa: SIM115
        )
        os.close(writing)
        with os.fdopen(reading) as ready:
            host, port_taken = ready.readline().split()
        self.address = f"{host}:{port_taken}"

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait(20)

    @contextmanager
    def another(self, *, ahead: float = 0.0) -> Iterator["Site"]:
        """Starts a second server on the same stores, with a clock that may be seconds ahead."""
        clock = {"PYTHONPATH": str(ROOT / "tests/soak/clock"), "SOAK_CLOCK_AHEAD": str(ahead)}
        other = Site(self.folder, self.env | (clock if ahead else {}))
        other.start()
        try:
            yield other
        finally:
            other.stop()

    def pair(self) -> Pair:
        """Two users with a thread, which no other test uses."""
        if not self._pairs:
            made = json.loads(self.seed_load("--pairs", "20", "--messages", "3"))
            self._pairs = [read_pair(pair) for pair in made["pairs"]]
        return self._pairs.pop()

    def seed_load(self, *options: str) -> str:
        # Forced, since PostgreSQL looks like a deployment; these stores belong to this run.
        return self.manage("seed_load", *options, "--json", "--force")

    def logs(self) -> str:
        return (self.folder / "server.log").read_text()

    # --- Requests without a browser

    def get(self, path: str, account: Account | None = None) -> tuple[int, str]:
        request = urllib.request.Request(self.url + path)
        if account:
            request.add_header("Cookie", f"sessionid={account.cookie}")
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def connect(self, account: Account | None, *, origin: str | None = "same") -> "Client":
        headers = {"Cookie": f"sessionid={account.cookie}"} if account else {}
        opening = connect(
            f"ws://{self.address}/ws/",
            origin=self.url if origin == "same" else origin,  # type: ignore[arg-type]
            additional_headers=headers,
            open_timeout=TIMEOUT_SECONDS,
            max_size=None,
            # A full queue would delay the closing handshake until its timeout of 10 s.
            max_queue=None,
        )
        return Client(opening.__enter__())


class Client:
    """A websocket client like the one of a page."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.heard: list[dict[str, Any]] = []

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def say(self, type: str, **fields: Any) -> None:
        self.socket.send(json.dumps({"type": type, **fields}))

    def send(self, thread: str, body: str, client_id: str = "", **fields: Any) -> str:
        client_id = client_id or str(uuid4())
        self.say("message.send", thread=thread, client_id=client_id, body=body, **fields)
        return client_id

    def hear(self, *types: str, timeout: float = TIMEOUT_SECONDS) -> dict[str, Any]:
        """The next event of these types; all events are recorded in `heard`."""
        while True:
            event = json.loads(self.socket.recv(timeout=timeout))
            self.heard.append(event)
            if not types or event["type"] in types:
                return event


def read_pair(made: dict[str, Any]) -> Pair:
    return Pair(made["thread"], Account(**made["buyer"]), Account(**made["seller"]))


@contextmanager
def running_site(folder: Path) -> Iterator[Site]:
    site = prepared_site(folder)
    site.start()
    try:
        yield site
    finally:
        site.stop()


def prepared_site(folder: Path) -> Site:
    """Prepares stores and settings for a server, on the same engines as this run."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"site_{uuid4().hex[:12]}"
    env = os.environ | {
        "DJANGO_SETTINGS_MODULE": "messaging_site.settings",
        "PARLEY_TABLE": name,
        "PARLEY_REDIS_PREFIX": name,
        "PARLEY_DATA": str(folder),
        "PARLEY_DRAIN_SECONDS": "1",
        # No test fetches from the web; tests of fetching name an address.
        "PARLEY_FETCH_PINS": "off",
        # Tests write faster than users do; tests of rate limits set their own.
        "PARLEY_MESSAGE_LIMIT": "1000000,1000000",
        "PARLEY_WRITE_LIMIT": "1000000,1000000",
        "PARLEY_COMMAND_LIMIT": "1000000,1000000",
        "PARLEY_PANEL_LIMIT": "1000000,1000000",
    }
    if "DATABASE_URL" in env:
        env["DATABASE_URL"] = databases.copy_postgres(env["DATABASE_URL"], name)
    else:
        databases.copy_sqlite(folder / databases.SQLITE_FILE)
    (folder / "static").symlink_to(Path(os.environ["PARLEY_DATA"]) / "static")
    site = Site(folder, env)
    site.manage("create_table")
    return site
