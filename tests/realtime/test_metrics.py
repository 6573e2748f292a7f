"""Prometheus metrics: correct values, served at a separate address."""

import json
import socket
import time
import urllib.request
from collections.abc import Iterator
from urllib.parse import quote_plus

import pytest

from tests.site import Pair, Site
from tests.wait import wait_until


@pytest.fixture(scope="module")
def measured(site) -> Iterator[tuple[Site, str]]:
    """A second server on the same stores that serves metrics, and the URL of these."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    server = Site(site.folder, site.env | {"PARLEY_METRICS": f"127.0.0.1:{port}"})
    server.start()
    yield server, f"http://127.0.0.1:{port}/metrics"
    server.stop()


def read_metrics(url: str) -> dict[str, float]:
    with urllib.request.urlopen(url, timeout=10) as response:
        lines = response.read().decode().splitlines()
    return {
        name: float(value)
        for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")
    }


def test_commands_sends_and_requests_are_counted(measured, site):
    server, url = measured
    pair = site.pair()
    before = read_metrics(url)
    with server.connect(pair.buyer) as buyer, server.connect(pair.seller) as seller:
        buyer.hear("hello")
        seller.hear("hello")
        assert read_metrics(url)["parley_sockets"] == before["parley_sockets"] + 2
        buyer.send(pair.thread, "Counted")
        buyer.hear("message.accepted")
        seller.hear("message.sent")
        buyer.say("made.up")
        buyer.say("message.send", thread="not an id")
        for _ in range(2):
            assert buyer.hear("error")["code"] == "BAD_FRAME"
        after = read_metrics(url)

    def increase(name: str) -> float:
        return after[name] - before.get(name, 0)

    assert increase('parley_commands_total{type="message.send"}') == 2
    assert increase('parley_commands_total{type="unknown"}') == 1
    assert increase('parley_refusals_total{code="BAD_FRAME"}') == 2
    assert increase("parley_send_seconds_count") == increase("parley_send_batch_size_count") == 1
    assert increase("parley_delivery_seconds_count") == 2, "Delivered to both users."
    assert increase('parley_dynamodb_requests_total{operation="TransactWriteItems"}') >= 1
    assert increase('parley_dynamodb_capacity_units_total{operation="TransactWriteItems"}') >= 10
    assert after["parley_search_lag_seconds"] >= 0


def test_a_gap_that_a_client_reports_is_counted(measured, site):
    server, url = measured
    pair = site.pair()
    with server.connect(pair.buyer) as buyer:
        buyer.hear("hello")
        buyer.say("thread.open", thread=pair.thread)
        first = buyer.hear("thread.synced")["messages"][0]
        before = read_metrics(url)["parley_sync_gaps_total"]
        buyer.say("thread.open", thread=pair.thread, after=first["message"])
        buyer.hear("thread.synced")
        buyer.say("ping", t=1)
        buyer.hear("pong")
        assert read_metrics(url)["parley_sync_gaps_total"] == before + 1


def test_the_public_address_does_not_serve_metrics(measured):
    assert measured[0].get("/metrics")[0] == 404


def test_search_finds_new_messages_within_seconds_and_reports_its_lag(measured, site):
    server, url = measured
    pair = site.pair()
    with server.connect(pair.buyer) as buyer:
        for number in range(40):
            buyer.send(pair.thread, f"Tanzanite, number {number}")
            buyer.hear("message.accepted")
        sent_at = time.monotonic()
    # Indexing takes long on a busy machine, but never stops.
    wait_until(
        lambda: (
            read_metrics(url)["parley_search_lag_seconds"] == 0
            and is_found(server, pair, "number 39")
        ),
        60,
        message="The search index has not caught up.",
    )
    assert is_found(server, pair, "number 0")
    rounds = [json.loads(line) for line in server.logs().splitlines() if "search_indexed" in line]
    lags = [each["lag_seconds"] for each in rounds]
    print(
        f"search found the last of 40 messages {time.monotonic() - sent_at:.1f} s after it was "
        f"sent; slowest of a round: {max(lags):.1f} s"
    )
    assert 0 < max(lags) < 60


def is_found(server: Site, pair: Pair, words: str) -> bool:
    _, page = server.get(f"/inbox/search/?q=tanzanite+{quote_plus(words)}", pair.seller)
    return 'class="hit"' in page
