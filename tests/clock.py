"""Requests to DynamoDB are signed with the real time, even if a test freezes the clock."""

import datetime

from time_machine import escape_hatch


def sign_by_the_real_clock() -> None:
    """Engines that verify signatures refuse those of another day."""
    from threads.dynamodb import signing

    signing.current_time = _real_time


def _real_time() -> datetime.datetime:
    if escape_hatch.is_travelling():
        return escape_hatch.datetime.datetime.now(datetime.UTC)
    return datetime.datetime.now(datetime.UTC)
