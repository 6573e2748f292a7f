"""Helpers for indexes that lag behind the table."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.conf import settings

from tests.wait import wait_until
from threads.dynamodb import recent_writes
from threads.dynamodb.table import connection

SCRIPTS = Path(__file__).resolve().parent.parent / "script"
INDEXES = ("GSI1", "GSI2", "GSI3", "GSI4")


def settle() -> None:
    """Waits until the indexes contain all writes, and clears the record of recent writes."""
    # The second engine may update its indexes for a later write first, but not for a write after
    # that one was visible.
    for _ in range(2):
        _write_and_wait()
    recent_writes.clear()


def _write_and_wait() -> None:
    mark = f"MARK#{uuid4()}"
    item = {"pk": {"S": mark}, "sk": {"S": mark}}
    for index in INDEXES:
        item |= {f"{index}PK": {"S": mark}, f"{index}SK": {"S": mark}}
    table = connection()
    put = {"TableName": table.table_name, "Item": item}
    table.connection._make_api_call("PutItem", put)
    for name in INDEXES:
        wait_until(
            lambda name=name: table.query(mark, index_name=name, limit=1)["Items"],
            message="The index has not caught up.",
            interval=0.01,
        )


@contextmanager
def lagging_engine(folder: Path, monkeypatch: Any, *, delay_ms: int) -> Iterator[None]:
    """Starts a second engine with lagging indexes, to which new connections are opened."""
    sys.path.insert(0, str(SCRIPTS))
    import second_engine

    started = second_engine.start(folder, log=folder.with_suffix(".log"), delay_ms=delay_ms)
    with started.running():
        for name, value in started.credentials.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("PARLEY_DYNAMODB_ENDPOINT", started.endpoint)
        monkeypatch.setitem(settings.DYNAMODB, "endpoint", started.endpoint)
        connection.cache_clear()
        try:
            yield
        finally:
            connection.cache_clear()
