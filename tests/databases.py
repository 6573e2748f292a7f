"""SQL databases for tests: migrated once for each run, then copied."""

import fcntl
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
from django.db import transaction
from psycopg import sql

ROOT = Path(__file__).resolve().parent.parent
TEMPLATE = "parley_template"
SQLITE_FILE = "parley.sqlite3"
RESTORE_SECONDS = 30.0


def make_copy(connection: Any) -> Callable[[], None]:
    """Copies the template under the name in the settings; returns a function that restores it."""
    if connection.vendor == "sqlite":
        copy_sqlite(Path(connection.settings_dict["NAME"]))
        return lambda: restore_sqlite(connection)
    copy_postgres(os.environ["DATABASE_URL"], connection.settings_dict["NAME"])
    with connection.cursor() as cursor:
        rows = PostgresRows(cursor)

    def restore() -> None:
        with connection.cursor() as cursor:
            rows.restore(cursor)

    return restore


# --- SQLite


def sqlite_template() -> Path:
    """A migrated database file without rows of tests, in the folder of this run."""
    folder = Path(os.environ["PARLEY_DATA"]) / "template"
    file, made = folder / SQLITE_FILE, folder / "migrated"
    with _lock(folder.with_suffix(".lock")):
        if not made.exists():
            folder.mkdir()
            _migrate({"PARLEY_DATA": str(folder)}, without=("DATABASE_URL",))
            made.touch()
    return file


def copy_sqlite(target: Path) -> None:
    shutil.copyfile(sqlite_template(), target)


def restore_sqlite(connection: Any) -> None:
    """Resets rows, triggers and indexes to the state after the migrations."""
    deadline = time.monotonic() + RESTORE_SECONDS

    def give_up(*_: int) -> None:
        if time.monotonic() > deadline:
            raise TimeoutError("A connection that a test left open locks the database.")

    with sqlite3.connect(sqlite_template()) as template:
        connection.ensure_connection()
        template.backup(connection.connection, progress=give_up, sleep=0.05)
    template.close()


# --- PostgreSQL


def postgres_template(url: str) -> str:
    """The name of a migrated template database on this server."""
    with (
        _lock(Path(os.environ["PARLEY_DATA"]) / "postgres-template.lock"),
        psycopg.connect(url, autocommit=True) as server,
    ):
        if not server.execute(
            "SELECT 1 FROM pg_database WHERE datistemplate AND datname = %s", [TEMPLATE]
        ).fetchone():
            server.execute(f"CREATE DATABASE {TEMPLATE}")
            _migrate({"DATABASE_URL": _with_name(url, TEMPLATE)})
            server.execute(f"ALTER DATABASE {TEMPLATE} IS_TEMPLATE true")
    return TEMPLATE


def copy_postgres(url: str, name: str) -> str:
    template = postgres_template(url)
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name} TEMPLATE {template}")  # type: ignore[arg-type]
    return _with_name(url, name)


class PostgresRows:
    """Restores a database to the rows that the migrations have created."""

    def __init__(self, cursor: Any) -> None:
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        self.tables = sorted(name for (name,) in cursor.fetchall())
        self.kept = self._counts(cursor, self._filled(cursor))

    def restore(self, cursor: Any) -> None:
        filled = [name for name in self._filled(cursor) if name not in self.kept]
        with transaction.atomic():
            # Disables triggers: both those against deletion and those of foreign keys.
            cursor.execute("SET LOCAL session_replication_role = replica")
            for name in filled:
                cursor.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(name)))
        counts = self._counts(cursor, list(self.kept))
        assert counts == self.kept, "A test that commits has changed rows of the migrations."

    def _filled(self, cursor: Any) -> list[str]:
        query = sql.SQL(" UNION ALL ").join(
            sql.SQL("SELECT {} WHERE EXISTS (SELECT 1 FROM {})").format(
                sql.Literal(name), sql.Identifier(name)
            )
            for name in self.tables
        )
        cursor.execute(query)
        return [name for (name,) in cursor.fetchall()]

    def _counts(self, cursor: Any, tables: list[str]) -> dict[str, int]:
        query = sql.SQL(" UNION ALL ").join(
            sql.SQL("SELECT {}, count(*) FROM {}").format(sql.Literal(name), sql.Identifier(name))
            for name in tables
        )
        cursor.execute(query)
        return dict(cursor.fetchall())


# --- Both


def _with_name(url: str, name: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def _migrate(changed: dict[str, str], without: tuple[str, ...] = ()) -> None:
    env = {name: value for name, value in os.environ.items() if name not in without}
    done = subprocess.run(
        [sys.executable, "manage.py", "migrate", "-v", "0"],
        cwd=ROOT,
        env=env | {"DJANGO_SETTINGS_MODULE": "messaging_site.settings"} | changed,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Lets one worker migrate while the others wait."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
