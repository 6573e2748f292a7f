"""A process that is killed, really and by itself, at one step of what it does.

The steps are the moments just before and just after each commit of the database and each write to
the table: everything that another process could find half-done.
"""

import os
import signal
import traceback
from collections.abc import Callable
from typing import Any

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from threads.models.transport import Client

WRITES = {"TransactWriteItems", "UpdateItem", "PutItem", "DeleteItem", "BatchWriteItem"}
MOST_STEPS = 60


def passing_by() -> None:
    """One more moment at which it may be killed; for what else a test counts as a step."""


def survives(step: int, action: Callable[[], Any]) -> bool:
    """Does it in another process, which dies at that step; True if it was done before."""
    for connection in connections.all():
        connection.close()
        if getattr(connection, "pool", None):
            connection.close_pool()
    pid = os.fork()
    if pid == 0:
        _be_killed_at(step, action)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return False
    assert os.WEXITSTATUS(status) == 0, "it failed by itself: see above"
    return True


def _be_killed_at(step: int, action: Callable[[], Any]) -> None:
    from threads import state
    from threads.models import table

    # Sockets and beliefs of the process that this one came from are not its own.
    table.connection.cache_clear()
    state._known.clear()
    state._turns.clear()
    try:
        _arm(step)
        action()
    except BaseException:
        traceback.print_exc()
        os._exit(3)
    os._exit(0)


def _arm(step: int) -> None:
    global passing_by
    left = step

    def pass_by() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    passing_by = pass_by
    call, commit = Client._make_api_call, BaseDatabaseWrapper._commit

    def watched_call(client: Client, operation: str, arguments: dict) -> Any:
        if operation not in WRITES:
            return call(client, operation, arguments)
        pass_by()
        answer = call(client, operation, arguments)
        pass_by()
        return answer

    def watched_commit(wrapper: BaseDatabaseWrapper) -> Any:
        pass_by()
        answer = commit(wrapper)
        pass_by()
        return answer

    Client._make_api_call = watched_call
    BaseDatabaseWrapper._commit = watched_commit
