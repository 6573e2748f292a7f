"""Two servers on the same stores, connected by Redis, and outages of Redis."""

import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.site import Client, Site, prepared_site
from tests.wait import wait_until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def stores(tmp_path_factory) -> Site:
    return prepared_site(tmp_path_factory.mktemp("several") / "data")


@pytest.fixture
def servers(stores, own_redis) -> Iterator[tuple[Site, Site]]:
    env = stores.env | {"REDIS_URL": own_redis.url, "PARLEY_DRAIN_SECONDS": "0"}
    one = Site(stores.folder, env)
    one.start()
    with one.another() as other:
        yield one, other
    one.stop()


@pytest.fixture
def pair(stores):
    return stores.pair()


@pytest.fixture
def buyer(servers, pair) -> Iterator[Client]:
    with servers[0].connect(pair.buyer) as client:
        client.hear("hello")
        yield client


@pytest.fixture
def seller(servers, pair) -> Iterator[Client]:
    with servers[1].connect(pair.seller) as client:
        client.hear("hello")
        yield client


def receive_message(client: Client, body: str, timeout: float = 30) -> dict:
    deadline = time.monotonic() + timeout
    while True:
        event = client.hear("message.sent", timeout=deadline - time.monotonic())
        if event["body"] == body:
            return event


def send_and_time(client: Client, thread: str, body: str) -> tuple[dict, float]:
    started_at = time.monotonic()
    client.send(thread, body)
    return client.hear("message.accepted"), time.monotonic() - started_at


def sync(client: Client, thread: str, after: str) -> list[dict]:
    client.say("thread.open", thread=thread, after=after)
    return client.hear("thread.synced")["messages"]


def test_users_on_different_servers_exchange_messages(pair, buyer, seller):
    for number in range(10):
        buyer.send(pair.thread, f"buyer {number}")
        assert receive_message(seller, f"buyer {number}")
        seller.send(pair.thread, f"seller {number}")
        assert receive_message(buyer, f"seller {number}")
    receive_message(seller, "seller 9")
    received = [
        [(e["seq"], e["body"]) for e in client.heard if e["type"] == "message.sent"]
        for client in (buyer, seller)
    ]
    seqs = [seq for seq, _ in sorted(received[0])]
    assert len(seqs) == 20
    assert seqs == list(range(seqs[0], seqs[0] + 20))
    assert sorted(received[0]) == sorted(received[1])
    rows = [e for e in seller.heard if e["type"] == "inbox.changed"]
    assert any(row["last_message"]["text"] == "buyer 0" for row in rows)


def test_concurrent_sends_get_unique_sequence_numbers(pair, buyer, seller):
    for number in range(20):
        buyer.send(pair.thread, f"buyer {number}")
        seller.send(pair.thread, f"seller {number}")
    received = {}
    while len(received) < 40:
        event = buyer.hear("message.sent")
        assert event["seq"] not in received
        received[event["seq"]] = event["body"]
    bodies = [received[seq] for seq in sorted(received)]
    assert sorted(received) == list(range(min(received), min(received) + 40))
    for name in ("buyer", "seller"):
        own = [body for body in bodies if body.startswith(name)]
        assert own == [f"{name} {number}" for number in range(20)]


def test_sending_works_without_redis_and_live_events_resume_afterwards(
    pair, buyer, seller, own_redis, monkeypatch
):
    last = send_and_time(buyer, pair.thread, "before")[0]
    receive_message(seller, "before")
    own_redis.kill()
    for client in (buyer, seller):
        assert client.hear("live.changed")["live"] is False

    sent = [send_and_time(buyer, pair.thread, f"without {number}") for number in range(20)]
    assert max(seconds for _, seconds in sent) < 0.75
    missed = sync(seller, pair.thread, last["message"])
    assert [message["body"] for message in missed] == [f"without {n}" for n in range(20)]

    own_redis.restart(monkeypatch)
    for client in (buyer, seller):
        assert client.hear("live.changed")["live"] is True
    buyer.send(pair.thread, "live again")
    assert receive_message(seller, "live again")["seq"] == last["seq"] + 21
    seller.send(pair.thread, "so I hear")
    assert receive_message(buyer, "so I hear")


def test_subscriptions_are_restored_after_a_quick_restart_of_redis(
    pair, buyer, seller, own_redis, monkeypatch
):
    """Connections break and can be reopened immediately, but Redis has lost its subscriptions."""
    own_redis.kill()
    own_redis.restart(monkeypatch)
    for client in (buyer, seller):
        while not client.hear("live.changed")["live"]:
            pass
    buyer.send(pair.thread, "still there?")
    assert receive_message(seller, "still there?")


def test_a_socket_opened_during_the_outage_becomes_live_afterwards(
    pair, servers, own_redis, monkeypatch
):
    own_redis.kill()
    with servers[0].connect(pair.buyer) as buyer, servers[1].connect(pair.seller) as seller:
        for client in (buyer, seller):
            client.hear("hello")
            assert client.hear("live.changed")["live"] is False
        send_and_time(buyer, pair.thread, "into the dark")
        own_redis.restart(monkeypatch)
        for client in (buyer, seller):
            assert client.hear("live.changed")["live"] is True
        buyer.send(pair.thread, "and there was light")
        assert receive_message(seller, "and there was light")


def test_a_socket_closed_during_the_outage_causes_no_error(pair, servers, own_redis, monkeypatch):
    with servers[0].connect(pair.buyer) as buyer:
        buyer.hear("hello")
        own_redis.kill()
        assert buyer.hear("live.changed")["live"] is False
    own_redis.restart(monkeypatch)
    with servers[0].connect(pair.buyer) as buyer:
        while not buyer.hear("live.changed")["live"]:
            pass
        buyer.send(pair.thread, "back")
        assert receive_message(buyer, "back")
    assert "Exception inside application" not in servers[0].logs()


def test_a_hanging_redis_delays_only_the_first_send(pair, buyer, seller, own_redis):
    last = send_and_time(buyer, pair.thread, "before")[0]
    receive_message(seller, "before")
    own_redis.hang()
    sent = [send_and_time(buyer, pair.thread, f"hanging {number}") for number in range(20)]
    assert sent[0][1] < 3, "The first send waits for the timeout."
    assert max(seconds for _, seconds in sent[1:]) < 0.75, "Later sends do not wait."
    missed = sync(seller, pair.thread, last["message"])
    assert [message["body"] for message in missed] == [f"hanging {n}" for n in range(20)]

    own_redis.resume()

    def is_back() -> bool:
        send_and_time(buyer, pair.thread, "is it back?")
        time.sleep(0.3)
        return any(e.get("body") == "is it back?" for e in receive_available(seller))

    wait_until(is_back, message="Live events did not resume.", interval=0)


def receive_available(client: Client) -> list[dict]:
    try:
        while True:
            client.hear(timeout=0.01)
    except TimeoutError:
        return client.heard


def test_a_killed_server_does_not_affect_sockets_of_the_other(pair, servers, buyer):
    with ExitStack() as stack:
        orphan = stack.enter_context(servers[1].connect(pair.seller))
        orphan.hear("hello")
        servers[1].process.kill()
        servers[1].process.wait()
        send_and_time(buyer, pair.thread, "anybody there?")
        seller = stack.enter_context(servers[0].connect(pair.seller))
        seller.hear("hello")
        send_and_time(buyer, pair.thread, "and now?")
        assert receive_message(seller, "and now?")
