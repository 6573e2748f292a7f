"""Readiness during an outage of a store, and the cost of a readiness check."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection as database
from django.test import Client
from django.test.utils import CaptureQueriesContext

from core import metrics
from messaging_site import health

pytestmark = [pytest.mark.django_db, pytest.mark.storage]

CLOSED_ADDRESS = "127.0.0.1:9"  # The port of the discard service, where nothing listens.


@pytest.fixture(autouse=True)
def _clear_report_cache():
    health.readiness.clear()
    yield
    health.readiness.clear()


def describe_table_calls() -> float:
    return metrics.DYNAMODB_REQUESTS.labels("DescribeTable")._value.get()


def test_ready_when_every_store_answers(client):
    answer = client.get("/readyz")
    assert answer.status_code == 200, answer.content
    assert answer.json()["ready"] is True


def test_without_redis_the_service_is_ready_and_reports_the_outage(client, settings):
    settings.REDIS_URL = f"redis://{CLOSED_ADDRESS}/0"
    answer = client.get("/readyz")
    assert answer.status_code == 200
    assert answer.json()["checks"]["redis"] == "ConnectionError"


def test_not_ready_without_the_table(client, monkeypatch):
    def fail():
        raise ConnectionError

    monkeypatch.setattr("messaging_site.health.table", fail)
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["checks"]["dynamodb"] == "ConnectionError"


def test_a_hundred_requests_cost_one_check_of_each_store(client, settings):
    settings.READY_CACHE_SECONDS = 60.0
    before = describe_table_calls()
    with CaptureQueriesContext(database) as queries:
        answers = {client.get("/readyz").status_code for _ in range(100)}
    assert answers == {200}
    assert describe_table_calls() - before == 1
    assert len(queries) == 1


@pytest.mark.django_db(transaction=True)
def test_concurrent_requests_share_one_check(settings):
    settings.READY_CACHE_SECONDS = 60.0
    before = describe_table_calls()
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: Client().get("/readyz").status_code, range(24)))
    assert set(answers) == {200}
    assert describe_table_calls() - before == 1


def test_an_expired_report_is_refreshed(client, settings):
    settings.READY_CACHE_SECONDS = 0.0
    before = describe_table_calls()
    client.get("/readyz")
    client.get("/readyz")
    assert describe_table_calls() - before == 2


@pytest.mark.parametrize(
    "caller",
    [{"REMOTE_ADDR": "203.0.113.9"}, {"HTTP_X_FORWARDED_FOR": "203.0.113.9"}],
)
def test_clients_outside_the_trusted_networks_receive_no_details(caller):
    assert Client(**caller).get("/readyz").json() == {"ready": True}


def test_the_networks_that_receive_details_are_a_setting(settings):
    settings.HEALTH_NETWORKS = ["203.0.113.0/24"]
    assert "checks" in Client(REMOTE_ADDR="203.0.113.9").get("/readyz").json()
    assert "checks" not in Client(REMOTE_ADDR="127.0.0.1").get("/readyz").json()
