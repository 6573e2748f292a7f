"""Shared fixtures: the stores and the service."""

import gc
import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests import counts, databases
from tests.clock import sign_by_the_real_clock
from tests.site import Pair, Site, running_site

STORES = ("PARLEY_DYNAMODB_ENDPOINT", "PARLEY_TEST_REDIS_URL", "PARLEY_TEST_POSTGRES_URL")

# The time of an example depends on the machine, not on the code.
settings.register_profile("parley", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("parley")


def pytest_configure(config: pytest.Config) -> None:
    if not all(os.environ.get(name) for name in STORES):
        raise pytest.UsageError(
            "The tests need real stores: run them with script/test, for example "
            "`script/test tests/threads -k send`."
        )


def pytest_collection_finish() -> None:
    """Exempts imported modules from garbage collection."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(5_000, 20, 50)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    ran = {
        report.nodeid.partition("::")[0]
        for reports in terminalreporter.stats.values()
        for report in reports
        if hasattr(report, "nodeid")
    }
    for line in counts.lines(ran):
        terminalreporter.write_line(line)


@pytest.fixture(scope="session", autouse=True)
def _signed_by_the_real_clock() -> None:
    sign_by_the_real_clock()


@pytest.fixture(scope="session", autouse=True)
def table(_signed_by_the_real_clock: None) -> None:
    """One table for each worker; every test uses its own threads and users."""
    from threads.dynamodb.table import create_table

    assert create_table() == []


@pytest.fixture(scope="session", autouse=True)
def _wait_for_own_entries() -> None:
    """No relay runs here: on a busy machine an action would leave entries unprocessed."""
    from core.outbox import processing

    processing.WAIT_SECONDS = 20.0


@pytest.fixture(autouse=True)
def _closed_breaker(table: None) -> None:
    """Resets the circuit breaker that a test with a failing store has opened."""
    from tests.threads.faults import close_breaker

    close_breaker()


@pytest.fixture(autouse=True)
def _empty_search_queue() -> None:
    """Otherwise a test that runs the indexer would index the threads of all tests before it."""
    from inbox.search import queue

    for queued in queue.take_queued():
        queue.mark_done(queued)


@pytest.fixture(scope="session")
def django_db_setup(django_test_environment: None, django_db_blocker: Any) -> None:
    """One database for each worker, a copy of the migrated template."""
    from django.db import connection
    from django.test import TransactionTestCase

    with django_db_blocker.unblock():
        restore = databases.make_copy(connection)
    # Restores the state after the migrations when a test has committed.
    TransactionTestCase._fixture_teardown = lambda case: restore()  # type: ignore[method-assign]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A running server for sockets and browsers."""
    with running_site(tmp_path_factory.mktemp("site") / "data") as site:
        yield site


@pytest.fixture
def pair(site: Site) -> Pair:
    return site.pair()
