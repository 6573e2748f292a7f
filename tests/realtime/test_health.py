"""What a balancer hears when a store is away."""

import pytest

pytestmark = [pytest.mark.django_db, pytest.mark.storage]

NOBODY = "127.0.0.1:9"  # The port of the discard service, where nothing listens.


def test_ready_when_every_store_answers(client):
    answer = client.get("/readyz")
    assert answer.status_code == 200, answer.content
    assert answer.json()["ready"] is True


def test_without_redis_the_work_goes_on_and_the_answer_says_so(client, settings):
    settings.REDIS_URL = f"redis://{NOBODY}/0"
    answer = client.get("/readyz")
    assert answer.status_code == 200
    assert answer.json()["checks"]["redis"] == "ConnectionError"


def test_not_ready_without_the_table(client, monkeypatch):
    def away():
        raise ConnectionError

    monkeypatch.setattr("messaging_site.health.table", away)
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["checks"]["dynamodb"] == "ConnectionError"
