"""A socket opened during a DynamoDB outage is closed with a code that asks for a retry."""

import pytest
from websockets.exceptions import ConnectionClosed

from tests.site import Client, Site, prepared_site
from tests.wait import wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def site(tmp_path, own_engine, monkeypatch):
    monkeypatch.setenv("PARLEY_DYNAMODB_ENDPOINT", own_engine.endpoint)
    site = prepared_site(tmp_path / "data")
    site.start()
    yield site
    site.stop()


def closed_with(site: Site, account) -> int:
    with site.connect(account) as client, pytest.raises(ConnectionClosed) as closed:
        client.hear("hello")
    return closed.value.rcvd.code


def reconnect(site: Site, account) -> Client:
    """Retries, as a page does, until the circuit breaker has closed again."""

    def connect() -> Client | None:
        client = site.connect(account)
        try:
            assert client.hear("hello")["user"] == account.id
        except ConnectionClosed:
            return None
        return client

    client = wait_until(
        connect, 30, message="Sockets cannot be opened after the outage.", interval=0.2
    )
    assert client is not None
    return client


def test_a_new_socket_is_closed_with_a_code_until_the_store_is_back(site, own_engine, monkeypatch):
    pair = site.pair()
    with site.connect(pair.seller) as open_before:
        open_before.hear("hello")
        own_engine.kill()
        assert closed_with(site, pair.buyer) == 4503
        # At most one line in the log, unless the circuit breaker logged it, and no traceback.
        assert site.logs().count("socket_open_failed") <= 1
        assert site.logs().count("store_unavailable") + site.logs().count("store_breaker") > 0
        broken = [
            line for line in site.logs().splitlines() if "realtime/sockets/consumers.py" in line
        ]
        assert broken == []
        own_engine.restart(monkeypatch)
        with reconnect(site, pair.buyer) as client:
            client.send(pair.thread, "Back again")
            client.hear("message.accepted")
        # A socket opened before the outage receives the message as well.
        assert open_before.hear("message.sent")["body"] == "Back again"
