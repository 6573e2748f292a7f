"""Other processes of the service, each with its own cache, write locks and clock.

Imports nothing of the service: a new process imports this before Django is set up.
"""

import contextlib
import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import time_machine

from tests.clock import sign_by_the_real_clock


@dataclass
class Outcome:
    """Return value of an action (or the code of its refusal) and its events: (user id, event)."""

    value: Any = None
    published: list[tuple[str, dict]] = field(default_factory=list)


class OtherProcess:
    """One process that runs actions one after the other."""

    def __init__(self) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(1, mp_context=spawn, initializer=_set_up)

    def begin(
        self, action: Callable[..., Any], *args: Any, at: float = 0, ahead: float = 0, **kwargs: Any
    ) -> Future[Outcome]:
        """Starts at the time `at`, with a clock that is `ahead` seconds off."""
        return self._pool.submit(_run, action, args, kwargs, at, ahead)

    def do(self, action: Callable[..., Any], *args: Any, **kwargs: Any) -> Outcome:
        return self.begin(action, *args, **kwargs).result(120)

    def close(self) -> None:
        self._pool.shutdown()


def _set_up() -> None:
    import django
    from django.conf import settings

    # SQL rows of a test exist only in its own process, so this process has an empty block table.
    settings.DATABASES["default"] = {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}
    django.setup()
    sign_by_the_real_clock()
    _create_block_table()


def _create_block_table() -> None:
    from django.db import connection

    from accounts.models import Block

    with connection.schema_editor() as editor:
        editor.create_model(Block)


def _run(action: Callable[..., Any], args: Any, kwargs: Any, at: float, ahead: float) -> Outcome:
    from core.refusals import Refusal

    time.sleep(max(0, at - time.time()))
    clock = time_machine.travel(datetime.now(UTC) + timedelta(seconds=ahead))
    outcome = Outcome()
    with _recorded(outcome.published), clock if ahead else contextlib.nullcontext():
        try:
            outcome.value = action(*args, **kwargs)
        except Refusal as refusal:
            outcome.value = refusal.code
    return outcome


@contextlib.contextmanager
def _recorded(published: list[tuple[str, dict]]):
    from realtime.broadcast import delivery

    def record(groups: list[str], message: dict) -> None:
        published.extend((group.removeprefix("user."), message["event"]) for group in groups)

    real, delivery.send_to_groups = delivery.send_to_groups, record
    try:
        yield
    finally:
        delivery.send_to_groups = real


# --- Actions whose return values can be pickled


def send(
    user: Any,
    thread_id: str,
    body: str,
    client_id: str = "",
    seen_seq: int = 0,
    after_seq: int | None = None,
) -> tuple:
    from threads.actions.messages import send_message

    message = send_message(
        user,
        thread_id=thread_id,
        client_id=client_id or str(uuid4()),
        body=body,
        seen_seq=seen_seq,
        after_seq=after_seq,
    )
    return message.id, message.seq


def send_many(user: Any, thread_id: str, count: int, pause: float = 0) -> list[tuple]:
    sent = []
    for number in range(count):
        sent.append(send(user, thread_id, f"{user.display_name} {number}"))
        time.sleep(pause)
    return sent


def send_from_threads(users: list, thread_id: str, count: int) -> list[tuple]:
    """Sends from all users concurrently, like their sockets do."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(len(users)) as pool:
        parts = pool.map(lambda user: send_many(user, thread_id, count), users)
        return [sent for part in parts for sent in part]


def send_same(users: list, thread_id: str, client_id: str) -> list[tuple]:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(len(users)) as pool:
        return list(pool.map(lambda user: send(user, thread_id, "Once", client_id), users))


def read_many(user: Any, thread_id: str, count: int) -> None:
    """Reads the newest message like a page does; every third time a message in the middle."""
    from threads.actions.cursors import mark_delivered, mark_read
    from threads.queries import open_thread

    for number in range(count):
        messages = open_thread(user, thread_id).messages
        message = messages[-1 if number % 3 else len(messages) // 2]
        mark = mark_delivered if number % 4 == 0 else mark_read
        mark(
            user,
            thread_id=thread_id,
            message_id=message.id,
            seq=message.seq,
            tally=message.tally,
        )


def react_with_all(user: Any, thread_id: str, message_id: str) -> None:
    from threads.actions.revisions import set_reaction
    from threads.models.message import REACTIONS

    for reaction in REACTIONS:
        set_reaction(user, thread_id=thread_id, message_id=message_id, reaction=reaction, on=True)


def edit_all(user: Any, thread_id: str, message_ids: list[str]) -> None:
    from threads.actions.revisions import edit_message

    for message_id in message_ids:
        edit_message(user, thread_id=thread_id, message_id=message_id, body="Edited")
