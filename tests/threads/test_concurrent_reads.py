"""Independent reads run at the same time, in the caller's context."""

import threading
from contextvars import ContextVar

import pytest

from threads.dynamodb.concurrent_reads import read_all, read_both

current: ContextVar[str] = ContextVar("current", default="")


def fail() -> None:
    raise LookupError


def test_reads_run_at_the_same_time_and_keep_their_order():
    barrier = threading.Barrier(3, timeout=10)

    def read(number: int) -> int:
        barrier.wait()
        return number

    assert read_all([lambda: read(1), lambda: read(2), lambda: read(3)]) == [1, 2, 3]


def test_the_other_read_runs_while_the_local_one_runs():
    barrier = threading.Barrier(2, timeout=10)
    local = threading.get_ident()
    mine, other = read_both(
        lambda: (barrier.wait(), threading.get_ident())[1],
        lambda: (barrier.wait(), threading.get_ident())[1],
    )
    assert mine == local
    assert other != local


def test_reads_see_the_context_of_the_caller():
    token = current.set("mara")
    assert read_both(current.get, current.get) == ("mara", "mara")
    current.reset(token)


@pytest.mark.parametrize("reads", [(fail, int), (int, fail)])
def test_an_error_of_either_read_is_raised(reads):
    with pytest.raises(LookupError):
        read_both(*reads)
    with pytest.raises(LookupError):
        read_all(reads)
