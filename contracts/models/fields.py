"""What several records have: an id that says what it is, a time, an amount."""

from functools import partial
from typing import Any

from django.db import models

from core.ids import new_id

CURRENCIES = ("EUR", "USD", "GBP", "CHF")
# Far above any job, far below what a 64-bit column holds when it is summed.
MAX_CENTS = 100_000_000_00


def record_id(prefix: str) -> Any:
    """Named for what it is, so that an id in a log says where to look."""
    return models.CharField(
        primary_key=True, max_length=31, default=partial(new_id, prefix), editable=False
    )


def currency() -> Any:
    return models.CharField(max_length=3, choices=[(code, code) for code in CURRENCIES])


def thread() -> Any:
    """The conversation in which it was agreed. To this app it is a name and nothing more."""
    return models.CharField(max_length=31, db_index=True)


def one_of(field: str, values: tuple[str, ...], name: str) -> models.CheckConstraint:
    return models.CheckConstraint(condition=models.Q(**{f"{field}__in": values}), name=name)
