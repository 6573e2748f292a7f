"""Runs an action in a forked process and kills it with SIGKILL at a chosen step.

The steps are the moment before the first write, and the moments after each database commit, each
statement outside a transaction and each write to the DynamoDB table: every state that another
process could find half-done. The state before a write equals the state after the previous write.
"""

import os
import signal
import traceback
import zlib
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

Scenario = TypeVar("Scenario")

STATEMENTS = ("INSERT", "UPDATE", "DELETE")
WRITES = {"TransactWriteItems", "UpdateItem", "PutItem", "DeleteItem", "BatchWriteItem"}
MAX_STEPS = 60


def crash_point() -> None:
    """Marks one more step at which the process may be killed; tests call it for steps of their
    own."""


def list_steps() -> range:
    """All steps in a long run; otherwise every third, with a first step that depends on the test
    and on the database."""
    every = 1 if os.environ.get("PARLEY_TEST_LONG") else 3
    test = os.environ["PYTEST_CURRENT_TEST"] + connections["default"].vendor
    return range(zlib.crc32(test.encode()) % every + 1, MAX_STEPS, every)


def kill_at_every_step(
    prepare: Callable[[], Scenario],
    act: Callable[[Scenario], Any],
    threads_of: Callable[[Scenario], Sequence[str]],
) -> Iterator[Scenario]:
    """Yields a new scenario for each step, after the kill and a relay run, with both stores in
    agreement. The last scenario was not interrupted."""
    for step in list_steps():
        scenario = prepare()
        is_done = survives(step, lambda scenario=scenario: act(scenario))
        relay(*threads_of(scenario))
        yield scenario
        if is_done:
            assert step > 3, "the action was never killed"
            return
    pytest.fail("the action never completed")


def relay(*threads: str) -> None:
    """Processes the outbox, as a server started after the crash does."""
    for thread in threads:
        cache.invalidate(thread)
    make_due()
    while process_due():
        pass
    assert not OutboxEntry.objects.filter(done_at__isnull=True).exists(), "outbox entries were left"
    assert_stores_agree(*threads)


def assert_stores_agree(*threads: str) -> None:
    for thread in threads:
        found = [*list_differences(thread), *find_problems(read_partition(thread))]
        if Card.objects.filter(thread_id=thread, type="safety").exists():
            # A hold raises the revision of the thread without writing any other item.
            found = [each for each in found if "the thread is at revision" not in each]
        assert not found, "\n".join([thread, *found])


def survives(step: int, action: Callable[[], Any]) -> bool:
    """Runs the action in another process that is killed at the step; True if it finished before."""
    return exited_normally(fork(action, kill_at=step))


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


def exited_normally(pid: int) -> bool:
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return False
    assert os.WEXITSTATUS(status) == 0, "the child process failed: see its traceback above"
    return True


def _run_in_child(action: Callable[[], Any], kill_at: int) -> None:
    from threads.dynamodb import table

    # A forked process must not share the parent's sockets, and its caches may be stale.
    table.connection.cache_clear()
    cache._entries.clear()
    cache._writers.clear()
    try:
        _install_crash_points(kill_at)
        action()
    except BaseException:
        traceback.print_exc()
        os._exit(3)
    os._exit(0)


def _install_crash_points(step: int) -> None:
    global crash_point
    steps_left, is_first = step, True

    def count_step() -> None:
        nonlocal steps_left
        steps_left -= 1
        if steps_left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def with_crash_points(write: Callable[[], Any]) -> Any:
        nonlocal is_first
        if is_first:
            is_first = False
            count_step()
        result = write()
        count_step()
        return result

    crash_point = count_step
    call, commit = SyncClient._make_api_call, BaseDatabaseWrapper._commit

    def call_with_crash_points(client: SyncClient, operation: str, arguments: dict) -> Any:
        if operation not in WRITES:
            return call(client, operation, arguments)
        return with_crash_points(lambda: call(client, operation, arguments))

    def execute_with_crash_points(
        execute: Any, sql: str, params: Any, many: bool, context: dict
    ) -> Any:
        is_autocommit = not context["connection"].in_atomic_block
        if not is_autocommit or not sql.startswith(STATEMENTS):
            return execute(sql, params, many, context)
        return with_crash_points(lambda: execute(sql, params, many, context))

    SyncClient._make_api_call = call_with_crash_points
    BaseDatabaseWrapper._commit = lambda wrapper: with_crash_points(lambda: commit(wrapper))
    connections["default"].execute_wrappers.append(execute_with_crash_points)
