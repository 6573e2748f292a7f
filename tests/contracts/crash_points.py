"""A process that is killed, really and by itself, at one step of what it does.

The steps are the moment before anything is written, and those just after each commit of the
database, each statement that is one by itself, and each write to the table: everything that another
process could find half-done. Just before a write is what just after the one before it left.
"""

import os
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import pytest
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from contracts.models import Card
from core.outbox.models import OutboxEntry
from core.outbox.processing import process_due
from projects.panel.rebuild import list_differences
from tests.outbox.timing import make_due
from tests.threads.checker import find_problems, read_partition
from threads import cache
from threads.dynamodb.client import SyncClient

Scene = TypeVar("Scene")

STATEMENTS = ("INSERT", "UPDATE", "DELETE")
WRITES = {"TransactWriteItems", "UpdateItem", "PutItem", "DeleteItem", "BatchWriteItem"}
MOST_STEPS = 60


def passing_by() -> None:
    """One more moment at which it may be killed; for what else a test counts as a step."""


def kill_at_every_step(
    prepare: Callable[[], Scene],
    act: Callable[[Scene], Any],
    threads_of: Callable[[Scene], Sequence[str]],
) -> Iterator[Scene]:
    """A new scene for each step, after its kill and after the relay has been there: both stores
    agree on it. The last one came through alive."""
    for step in range(1, MOST_STEPS):
        scene = prepare()
        is_done = survives(step, lambda scene=scene: act(scene))
        relay(*threads_of(scene))
        yield scene
        if is_done:
            assert step > 3, "it was killed nowhere"
            return
    pytest.fail("it never came to an end")


def relay(*threads: str) -> None:
    """As a server does that starts after the crash."""
    for thread in threads:
        cache.invalidate(thread)
    make_due()
    while process_due():
        pass
    assert not OutboxEntry.objects.filter(done_at__isnull=True).exists(), "something was left"
    assert_agree(*threads)


def assert_agree(*threads: str) -> None:
    for thread in threads:
        found = [*list_differences(thread), *find_problems(read_partition(thread))]
        if Card.objects.filter(thread_id=thread, type="safety").exists():
            # A hold is a revision of the thread by itself, of which no other item tells.
            found = [each for each in found if "the thread is at revision" not in each]
        assert not found, "\n".join([thread, *found])


def survives(step: int, action: Callable[[], Any]) -> bool:
    """Does it in another process, which dies at that step; True if it was done before."""
    return ended_alive(fork(action, kill_at=step))


def fork(action: Callable[[], Any], *, kill_at: int = 0) -> int:
    for connection in connections.all():
        connection.close()
        if getattr(connection, "pool", None):
            connection.close_pool()
    pid = os.fork()
    if pid == 0:
        _run_in_child(action, kill_at)
    return pid


def kill_this_process() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def ended_alive(pid: int) -> bool:
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return False
    assert os.WEXITSTATUS(status) == 0, "it failed by itself: see above"
    return True


def _run_in_child(action: Callable[[], Any], kill_at: int) -> None:
    from threads.dynamodb import table

    # Sockets and beliefs of the process that this one came from are not its own.
    table.connection.cache_clear()
    cache._entries.clear()
    cache._writers.clear()
    try:
        _arm(kill_at)
        action()
    except BaseException:
        traceback.print_exc()
        os._exit(3)
    os._exit(0)


def _arm(step: int) -> None:
    global passing_by
    left, is_first = step, True

    def pass_by() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def watched(write: Callable[[], Any]) -> Any:
        nonlocal is_first
        if is_first:
            is_first = False
            pass_by()
        answer = write()
        pass_by()
        return answer

    passing_by = pass_by
    call, commit = SyncClient._make_api_call, BaseDatabaseWrapper._commit

    def watched_call(client: SyncClient, operation: str, arguments: dict) -> Any:
        if operation not in WRITES:
            return call(client, operation, arguments)
        return watched(lambda: call(client, operation, arguments))

    def watched_statement(execute: Any, sql: str, params: Any, many: bool, context: dict) -> Any:
        is_alone = not context["connection"].in_atomic_block
        if not is_alone or not sql.startswith(STATEMENTS):
            return execute(sql, params, many, context)
        return watched(lambda: execute(sql, params, many, context))

    SyncClient._make_api_call = watched_call
    BaseDatabaseWrapper._commit = lambda wrapper: watched(lambda: commit(wrapper))
    connections["default"].execute_wrappers.append(watched_statement)
