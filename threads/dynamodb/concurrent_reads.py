"""Running independent reads at the same time.

Each read runs in a copy of the caller's context, in a thread of a small pool. It must not use SQL,
since another thread has another database connection, and it must not start concurrent reads of its
own, since it could wait for a thread of the same pool.
"""

import functools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import TypeVar

MAX_THREADS = 16

A = TypeVar("A")
B = TypeVar("B")


def read_both(local: Callable[[], A], other: Callable[[], B]) -> tuple[A, B]:
    """Runs `other` in the pool while `local` runs in the calling thread, where it may use SQL and
    start concurrent reads."""
    future = _submit(other)
    try:
        result = local()
    finally:
        wait([future])
    return result, future.result()


def read_all(reads: Sequence[Callable[[], A]]) -> list[A]:
    """Runs the first read in the calling thread and the others in the pool."""
    first, *others = reads
    futures = [_submit(read) for read in others]
    try:
        result = first()
    finally:
        wait(futures)
    return [result, *(future.result() for future in futures)]


def _submit(read: Callable[[], A]) -> Future[A]:
    return _pool(os.getpid()).submit(copy_context().run, read)


@functools.cache
def _pool(pid: int) -> ThreadPoolExecutor:
    """One per process: a forked process does not inherit the threads."""
    return ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="reads")
