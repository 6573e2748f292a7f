"""Requests to DynamoDB are signed by the real clock, whatever time a test pretends it is."""

import datetime

from time_machine import escape_hatch


def sign_by_the_real_clock() -> None:
    """An engine that checks signatures refuses those of another day."""
    from threads.dynamodb import signing

    signing.current_time = _real_time


def _real_time() -> datetime.datetime:
    if escape_hatch.is_travelling():
        return escape_hatch.datetime.datetime.now(datetime.UTC)
    return datetime.datetime.now(datetime.UTC)
