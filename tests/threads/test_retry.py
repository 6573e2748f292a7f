"""Retries: retried errors, back-off, deadlines, and the circuit breaker."""

import time
from uuid import uuid4

import pytest
from botocore.exceptions import ClientError
from botocore.retries.standard import ThrottledRetryableChecker, TransientRetryableChecker
from django.conf import settings

from core.refusals import Refusal
from realtime.sockets.commands import handle_command
from tests.threads.conftest import messages_of, say
from tests.threads.faults import ALWAYS, WRITE, client_error, transaction_cancelled, unreachable
from threads import cache
from threads.dynamodb import circuit_breaker as breakers
from threads.dynamodb import retry
from threads.dynamodb.circuit_breaker import MAX_FAILURES, CircuitBreaker
from threads.dynamodb.errors import BREAKER_OPEN, StoreUnavailable
from threads.dynamodb.retry import Backoff, time_budget
from threads.dynamodb.table import connection, get_many
from threads.queries import open_thread

pytestmark = pytest.mark.django_db


def test_every_code_that_botocore_retries_is_retried():
    theirs = {
        *ThrottledRetryableChecker._THROTTLED_ERROR_CODES,
        *TransientRetryableChecker._TRANSIENT_ERROR_CODES,
    }
    assert theirs <= retry.THROTTLING_CODES | retry.UNCERTAIN_CODES | retry.CONFLICT_CODES


def test_backoff_is_random_below_a_limit_that_doubles(monkeypatch):
    limits = []
    monkeypatch.setattr(retry.random, "uniform", lambda low, high: limits.append((low, high)) or 0)
    backoff = Backoff()
    for _ in range(7):
        backoff.next_delay("ThrottlingException")
    assert limits == [(0, limit) for limit in (0.025, 0.05, 0.1, 0.2, 0.4, 0.5, 0.5)]


def test_the_outermost_time_budget_applies(monkeypatch):
    with time_budget(0.0), time_budget(60.0), pytest.raises(StoreUnavailable):
        Backoff().wait()
    Backoff().wait()


@pytest.fixture
def deadlines(monkeypatch) -> list[float]:
    """Deadline of every retry."""
    seen: list[float] = []
    real = Backoff.next_delay

    def next_delay(backoff: Backoff, reason: str) -> float:
        seen.append(backoff._deadline)
        return real(backoff, reason)

    monkeypatch.setattr(Backoff, "next_delay", next_delay)
    return seen


@pytest.fixture
def every_other(faults) -> None:
    for _ in range(20):
        faults.before("*", client_error("ThrottlingException"))
        faults.allow("*", 1)


def test_all_requests_of_a_page_share_one_deadline(client, buyer, thread, every_other, deadlines):
    client.force_login(buyer)
    assert client.get(f"/threads/{thread}/").status_code == 200
    assert len(deadlines) >= 3
    assert len(set(deadlines)) == 1
    client.get("/inbox/")
    assert len(set(deadlines)) == 2


def test_all_requests_of_a_command_share_one_deadline(buyer, thread, every_other, deadlines):
    cache.invalidate(thread)
    frame = {"type": "message.edit", "thread": thread, "message": messages_of(thread)[0].id}
    deadlines.clear()
    handle_command(buyer, frame | {"body": "Are you free in June?"})
    assert len(deadlines) >= 2
    assert len(set(deadlines)) == 1


@pytest.mark.parametrize(
    "code",
    ["ProvisionedThroughputExceededException", "RequestLimitExceeded", "ThrottlingException"],
)
def test_a_throttled_read_is_retried(thread, buyer, faults, code):
    faults.before("Query", client_error(code), times=4)
    assert open_thread(buyer, thread).messages
    assert faults.count == 4


@pytest.mark.parametrize("reason", ["ThrottlingError", "ProvisionedThroughputExceeded"])
def test_a_throttled_transaction_is_never_refused_for_another_reason(
    thread, buyer, faults, monkeypatch, reason
):
    monkeypatch.setitem(settings.DYNAMODB, "retry_seconds", 0.2)
    faults.before(WRITE, transaction_cancelled(reason), times=ALWAYS)
    with pytest.raises(Refusal) as refusal:
        say(buyer, thread)
    assert refusal.value.code == "TRY_AGAIN"
    faults.clear()
    assert len(messages_of(thread)) == 1


def test_an_invalid_transaction_is_an_error_and_not_retried(thread, buyer, faults):
    faults.before(WRITE, transaction_cancelled("ValidationError"), times=ALWAYS)
    with pytest.raises(ClientError, match="ValidationError"):
        say(buyer, thread)
    assert faults.count == 1


# --- The circuit breaker


@pytest.fixture
def breaker() -> CircuitBreaker:
    return CircuitBreaker()


def fail(breaker: CircuitBreaker, times: int) -> None:
    for _ in range(times):
        breaker.record_failure("ThrottlingException")


def test_opens_after_failures_in_a_row_only(breaker):
    for _ in range(10):
        fail(breaker, MAX_FAILURES - 1)
        breaker.record_success()
    assert breaker.allows_attempt()
    fail(breaker, MAX_FAILURES)
    assert not breaker.allows_attempt()


def test_probes_are_single_and_increasingly_rare(breaker, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(breakers.time, "monotonic", lambda: now[0])
    fail(breaker, MAX_FAILURES)
    probes = []
    for _ in range(100):
        now[0] += 0.1
        if breaker.allows_attempt():
            assert not breaker.allows_attempt()
            probes.append(round(now[0] - 1000, 1))
            breaker.record_failure("EndpointConnectionError")
    assert probes == [0.5, 1.5, 3.5, 5.5, 7.5, 9.5]


def test_one_success_closes_it(breaker):
    fail(breaker, MAX_FAILURES + 5)
    breaker.record_success()
    assert breaker.allows_attempt()
    fail(breaker, MAX_FAILURES - 1)
    assert breaker.allows_attempt()


def test_logs_once_when_it_opens_and_once_when_it_closes(breaker, caplog):
    fail(breaker, 3 * MAX_FAILURES)
    breaker.record_success()
    breaker.record_success()
    events = [record.msg["event"] for record in caplog.records]
    assert events == ["store_breaker_opened", "store_breaker_closed"]


def test_an_open_breaker_prevents_requests(thread, buyer, faults, monkeypatch):
    faults.before("*", unreachable, times=ALWAYS)
    store = connection().connection
    fail(store.breaker, MAX_FAILURES)
    began = time.monotonic()
    for read in (lambda: open_thread(buyer, thread), lambda: get_many([("a", "b")])):
        with pytest.raises(StoreUnavailable) as refusal:
            read()
        assert refusal.value.reason == BREAKER_OPEN
    with pytest.raises(Refusal, match="TRY_AGAIN"):
        say(buyer, thread, str(uuid4()))
    assert faults.count == 0
    assert time.monotonic() - began < retry.MAX_DELAY_SECONDS


def test_a_conflict_does_not_open_it(thread, buyer, faults, monkeypatch):
    monkeypatch.setitem(settings.DYNAMODB, "retry_seconds", 0.2)
    store = connection().connection
    faults.before(WRITE, transaction_cancelled("TransactionConflict"), times=ALWAYS)
    for _ in range(MAX_FAILURES):
        with pytest.raises(Refusal), time_budget(0.0):
            say(buyer, thread)
    assert store.breaker.allows_attempt()
