"""django-private-chat2 in a virtual environment of its own, with daphne and SQLite."""

import json
import os
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tests.bench.deployment import ROOT, temporary_folder
from tests.bench.peers.distribution import accepts_connections
from tests.bench.peers.server import CONVERSATIONS, Server

import processes  # isort: skip

NAME = "django-private-chat2"
VENV = ROOT / ".venv-private-chat"
PYTHON = VENV / "bin" / "python"
SITE = Path(__file__).parent / "private_chat_site"


def what_to_install(venv: Path = VENV) -> str | None:
    """One line that says what to install, or None if everything is installed."""
    if next(venv.glob("lib/python*/site-packages/django_private_chat2"), None):
        return None
    folder, requirements = venv.name, (SITE / "requirements.txt").relative_to(ROOT)
    create = f"python3 -m venv {folder} && {folder}/bin/pip install -r {requirements}"
    return f"{NAME} is not compared; to include it: {create}"


@contextmanager
def running() -> Iterator[Server]:
    with temporary_folder() as folder:
        database = folder / "chat.sqlite3"
        env = os.environ | {"CHAT_DATABASE": str(database), "DJANGO_SETTINGS_MODULE": "settings"}
        users = _seed(env)
        program, port = processes.start_on_free_port(
            NAME,
            lambda port: [
                *(PYTHON, "-m", "daphne", "--bind", "127.0.0.1", "--port", str(port)),
                *("--verbosity", "0", "asgi:application"),
            ],
            accepts_connections,
            log=folder / "service.log",
            cwd=SITE,
            env=env,
        )
        with processes.running(program):
            yield Server(
                name=NAME,
                protocol="private_chat",
                conversations=_conversations(users, port),
                programs={"service": program.pid},
                count_stored=lambda: _count_stored(database),
            )


def _seed(env: dict[str, str]) -> list[dict[str, Any]]:
    command = [PYTHON, "seed.py", str(2 * CONVERSATIONS)]
    done = subprocess.run(command, cwd=SITE, env=env, capture_output=True, text=True)
    if done.returncode != 0:
        raise processes.Problem(f"{NAME} could not be set up: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def _conversations(users: list[dict[str, Any]], port: int) -> list[list[dict[str, Any]]]:
    """Pairs of users with consecutive numbers."""
    return [
        [
            {"port": port, "cookie": user["cookie"], "other": other["id"]}
            for user, other in ((first, second), (second, first))
        ]
        for first, second in zip(users[::2], users[1::2], strict=True)
    ]


def _count_stored(database: Path) -> int:
    with closing(sqlite3.connect(database)) as connection:
        query = "SELECT count(*) FROM django_private_chat2_messagemodel"
        return int(connection.execute(query).fetchone()[0])
