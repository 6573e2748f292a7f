"""Waiting helpers of the tests: they return results, and fail in time."""

import pytest

from tests.wait import async_wait_until, poll_until, wait_until


def test_the_first_true_result_is_returned():
    results = iter([0, None, "found", "later"])
    assert wait_until(lambda: next(results), interval=0) == "found"


def test_a_condition_that_is_never_met_fails_with_its_message():
    with pytest.raises(AssertionError, match="Not in time"):
        wait_until(lambda: False, 0.01, message="Not in time", interval=0)


def test_a_condition_is_checked_at_least_once():
    assert wait_until(lambda: True, 0)
    assert poll_until(lambda: [], 0) == []


async def test_on_the_event_loop_functions_and_coroutine_functions_are_conditions():
    async def found() -> str:
        return "found"

    assert await async_wait_until(found) == "found"
    assert await async_wait_until(lambda: "plain") == "plain"
    with pytest.raises(AssertionError):
        await async_wait_until(lambda: False, 0.01, interval=0)
