"""Figures for Prometheus: right, and at an address of their own."""

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
    """Another server on the same stores, which may be asked."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    server = Site(site.folder, site.env | {"PARLEY_METRICS": f"127.0.0.1:{port}"})
    server.start()
    yield server, f"http://127.0.0.1:{port}/metrics"
    server.stop()


def figures(url: str) -> dict[str, float]:
    with urllib.request.urlopen(url, timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    return {
        name: float(value)
        for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")
    }


def test_counts_what_happens(measured, site):
    server, url = measured
    pair = site.pair()
    before = figures(url)
    with server.connect(pair.buyer) as buyer, server.connect(pair.seller) as seller:
        buyer.hear("hello")
        seller.hear("hello")
        assert figures(url)["parley_sockets"] == before["parley_sockets"] + 2
        buyer.send(pair.thread, "Counted")
        buyer.hear("message.accepted")
        seller.hear("message.sent")
        buyer.say("made.up")
        buyer.say("message.send", thread="not an id")
        for _ in range(2):
            assert buyer.hear("error")["code"] == "BAD_FRAME"
        after = figures(url)

    def grown(name: str) -> float:
        return after[name] - before.get(name, 0)

    assert grown('parley_commands_total{type="message.send"}') == 2
    assert grown('parley_commands_total{type="unknown"}') == 1
    assert grown('parley_refusals_total{code="BAD_FRAME"}') == 2
    assert grown("parley_send_seconds_count") == grown("parley_group_size_count") == 1
    assert grown("parley_delivery_seconds_count") == 2, "To both of them."
    assert grown('parley_dynamodb_requests_total{operation="TransactWriteItems"}') >= 1
    assert grown('parley_dynamodb_units_total{operation="TransactWriteItems"}') >= 10
    assert after["parley_search_lag_seconds"] >= 0


def test_a_gap_that_a_client_reports_is_counted(measured, site):
    server, url = measured
    pair = site.pair()
    with server.connect(pair.buyer) as buyer:
        buyer.hear("hello")
        buyer.say("thread.open", thread=pair.thread)
        first = buyer.hear("thread.synced")["messages"][0]
        before = figures(url)["parley_repairs_total"]
        buyer.say("thread.open", thread=pair.thread, after=first["message"])
        buyer.hear("thread.synced")
        buyer.say("ping", t=1)
        buyer.hear("pong")
        assert figures(url)["parley_repairs_total"] == before + 1


def test_the_public_address_does_not_tell(measured):
    assert measured[0].get("/metrics")[0] == 404


def test_search_knows_what_is_said_within_seconds_and_says_how_far_behind_it_is(measured, site):
    server, url = measured
    pair = site.pair()
    with server.connect(pair.buyer) as buyer:
        for number in range(40):
            buyer.send(pair.thread, f"Tanzanite, number {number}")
            buyer.hear("message.accepted")
        said_at = time.monotonic()
    # Indexing takes long on a busy machine, but never stops.
    wait_until(
        lambda: figures(url)["parley_search_lag_seconds"] == 0 and finds(server, pair, "number 39"),
        60,
        message="The search index has not caught up.",
    )
    assert finds(server, pair, "number 0")
    rounds = [json.loads(line) for line in server.logs().splitlines() if "search_fed" in line]
    lags = [each["lag_seconds"] for each in rounds]
    print(
        f"search knew the last of 40 messages {time.monotonic() - said_at:.1f} s after it was "
        f"said; slowest of a round: {max(lags):.1f} s"
    )
    assert 0 < max(lags) < 60


def finds(server: Site, pair: Pair, words: str) -> bool:
    _, page = server.get(f"/inbox/search/?q=tanzanite+{quote_plus(words)}", pair.seller)
    return 'class="hit"' in page
