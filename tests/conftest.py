"""Fixtures for everybody: the stores."""

import os

import pytest

STORES = ("PARLEY_DYNAMODB_ENDPOINT", "PARLEY_TEST_REDIS_URL", "PARLEY_TEST_POSTGRES_URL")


def pytest_configure(config: pytest.Config) -> None:
    if not all(os.environ.get(name) for name in STORES):
        raise pytest.UsageError(
            "The tests need real stores: run them with script/test, for example "
            "`script/test tests/threads -k send`."
        )


@pytest.fixture(scope="session", autouse=True)
def table() -> None:
    """One table for each worker; every test lives in threads and people of its own."""
    from threads.models.table import create_table

    assert create_table() == []
