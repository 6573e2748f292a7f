"""Figures for Prometheus: right, and at an address of their own."""

import socket
import urllib.request
from collections.abc import Iterator

import pytest

from tests.site import Site


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
