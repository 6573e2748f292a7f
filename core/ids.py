"""Identifiers: a prefix that names the type, and a ULID."""

import os
import re
import time

from ulid import ULID

ULID_PATTERN = r"[0-7][0-9A-HJKMNP-TV-Z]{25}"


def new_ulid(milliseconds: int | None = None) -> ULID:
    """A ULID whose random part is always new.

    The library increments it within a millisecond, which would make neighbouring ids guessable
    and could collide with message ids, which increment the last id of their thread.
    """
    if milliseconds is None:
        milliseconds = time.time_ns() // 1_000_000
    return ULID.from_bytes(milliseconds.to_bytes(6, "big") + os.urandom(10))


def new_id(prefix: str) -> str:
    return f"{prefix}_{new_ulid()}"


def is_id(prefix: str, text: str) -> bool:
    return re.fullmatch(f"{prefix}_{ULID_PATTERN}", text) is not None


def new_user_id() -> str:
    return new_id("usr")
