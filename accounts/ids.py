"""Identifiers: a prefix that says what it is, and a ULID."""

import re

from ulid import ULID

ULID_PATTERN = r"[0-7][0-9A-HJKMNP-TV-Z]{25}"


def new_id(prefix: str) -> str:
    return f"{prefix}_{ULID()}"


def is_id(prefix: str, text: str) -> bool:
    return re.fullmatch(f"{prefix}_{ULID_PATTERN}", text) is not None


def new_user_id() -> str:
    return new_id("usr")
