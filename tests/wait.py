"""Polling with a timeout, for conditions that other threads and processes bring about."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

DEFAULT_TIMEOUT_SECONDS = 10.0
INTERVAL_SECONDS = 0.05
MESSAGE = "The condition was not met in time."

T = TypeVar("T")


def wait_until(
    condition: Callable[[], T],
    timeout: float = DEFAULT_TIMEOUT_SECONDS,  # noqa: ASYNC109
    *,
    message: str = MESSAGE,
    interval: float = INTERVAL_SECONDS,
) -> T:
    """Returns the first true result of the condition; fails if there is none in time."""
    result = poll_until(condition, timeout, interval=interval)
    assert result, message
    return result


def poll_until(
    condition: Callable[[], T], timeout: float, *, interval: float = INTERVAL_SECONDS
) -> T:
    """Returns the first true result of the condition, or its last one."""
    deadline = time.monotonic() + timeout
    while not (result := condition()) and time.monotonic() < deadline:
        time.sleep(interval)
    return result


async def async_wait_until(
    condition: Callable[[], Any | Awaitable[Any]],
    timeout: float = DEFAULT_TIMEOUT_SECONDS,  # noqa: ASYNC109
    *,
    message: str = MESSAGE,
    interval: float = INTERVAL_SECONDS,
) -> Any:
    """Like `wait_until`, on the event loop; the condition may be a coroutine function."""
    result = await async_poll_until(condition, timeout, interval=interval)
    assert result, message
    return result


async def async_poll_until(
    condition: Callable[[], Any | Awaitable[Any]],
    timeout: float,  # noqa: ASYNC109
    *,
    interval: float = INTERVAL_SECONDS,
) -> Any:
    """Like `poll_until`, on the event loop; the condition may be a coroutine function."""
    deadline = time.monotonic() + timeout
    while not (result := await _evaluate(condition)) and time.monotonic() < deadline:  # noqa: ASYNC110
        await asyncio.sleep(interval)
    return result


async def _evaluate(condition: Callable[[], Any]) -> Any:
    result = condition()
    return await result if inspect.isawaitable(result) else result
