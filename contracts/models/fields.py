"""Field factories and constraints shared by the models."""

from functools import partial
from typing import Any

from django.db import models

from contracts.currencies import CURRENCIES
from core.ids import new_id

# In minor units. Far above any booking, and sums still fit into a 64-bit column.
MAX_CENTS = 100_000_000_00


def record_id(prefix: str) -> Any:
    """A primary key with a prefix that names the record type."""
    return models.CharField(
        primary_key=True, max_length=31, default=partial(new_id, prefix), editable=False
    )


def currency() -> Any:
    return models.CharField(max_length=3, choices=[(code, code) for code in CURRENCIES])


def thread() -> Any:
    """The id of the thread in which it was agreed. This app knows threads only by id."""
    return models.CharField(max_length=31, db_index=True)


def one_of(field: str, values: tuple[str, ...], name: str) -> models.CheckConstraint:
    return models.CheckConstraint(condition=models.Q(**{f"{field}__in": values}), name=name)
