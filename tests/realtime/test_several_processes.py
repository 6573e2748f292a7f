"""Two servers on the same stores, with Redis between them, and what happens when it goes away."""

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


def hear_message(client: Client, body: str, timeout: float = 30) -> dict:
    deadline = time.monotonic() + timeout
    while True:
        event = client.hear("message.sent", timeout=deadline - time.monotonic())
        if event["body"] == body:
            return event


def send_and_time(client: Client, thread: str, body: str) -> tuple[dict, float]:
    begun = time.monotonic()
    client.send(thread, body)
    return client.hear("message.accepted"), time.monotonic() - begun


def caught_up(client: Client, thread: str, after: str) -> list[dict]:
    client.say("thread.open", thread=thread, after=after)
    return client.hear("thread.synced")["messages"]


def test_people_on_different_servers_talk(pair, buyer, seller):
    for number in range(10):
        buyer.send(pair.thread, f"buyer {number}")
        assert hear_message(seller, f"buyer {number}")
        seller.send(pair.thread, f"seller {number}")
        assert hear_message(buyer, f"seller {number}")
    hear_message(seller, "seller 9")
    heard = [
        [(e["seq"], e["body"]) for e in client.heard if e["type"] == "message.sent"]
        for client in (buyer, seller)
    ]
    seqs = [seq for seq, _ in sorted(heard[0])]
    assert len(seqs) == 20
    assert seqs == list(range(seqs[0], seqs[0] + 20))
    assert sorted(heard[0]) == sorted(heard[1])
    rows = [e for e in seller.heard if e["type"] == "inbox.changed"]
    assert any(row["last_message"]["text"] == "buyer 0" for row in rows)


def test_both_send_at_once_and_each_message_has_a_number_of_its_own(pair, buyer, seller):
    for number in range(20):
        buyer.send(pair.thread, f"buyer {number}")
        seller.send(pair.thread, f"seller {number}")
    heard = {}
    while len(heard) < 40:
        event = buyer.hear("message.sent")
        assert event["seq"] not in heard
        heard[event["seq"]] = event["body"]
    bodies = [heard[seq] for seq in sorted(heard)]
    assert sorted(heard) == list(range(min(heard), min(heard) + 40))
    for name in ("buyer", "seller"):
        own = [body for body in bodies if body.startswith(name)]
        assert own == [f"{name} {number}" for number in range(20)]


def test_without_redis_sending_works_and_all_are_live_again_when_it_is_back(
    pair, buyer, seller, own_redis, monkeypatch
):
    last = send_and_time(buyer, pair.thread, "before")[0]
    hear_message(seller, "before")
    own_redis.kill()
    for client in (buyer, seller):
        assert client.hear("live.changed")["live"] is False

    sent = [send_and_time(buyer, pair.thread, f"without {number}") for number in range(20)]
    assert max(seconds for _, seconds in sent) < 0.75
    missed = caught_up(seller, pair.thread, last["message"])
    assert [message["body"] for message in missed] == [f"without {n}" for n in range(20)]

    own_redis.start_again(monkeypatch)
    for client in (buyer, seller):
        assert client.hear("live.changed")["live"] is True
    buyer.send(pair.thread, "live again")
    assert hear_message(seller, "live again")["seq"] == last["seq"] + 21
    seller.send(pair.thread, "so I hear")
    assert hear_message(buyer, "so I hear")


def test_a_redis_that_restarts_in_a_moment_has_forgotten_nobody_for_long(
    pair, buyer, seller, own_redis, monkeypatch
):
    """The connections break, but there is one to be had again at once; who listens is forgotten."""
    own_redis.kill()
    own_redis.start_again(monkeypatch)
    for client in (buyer, seller):
        while not client.hear("live.changed")["live"]:
            pass
    buyer.send(pair.thread, "still there?")
    assert hear_message(seller, "still there?")


def test_whoever_comes_while_redis_is_away_is_live_when_it_is_back(
    pair, servers, own_redis, monkeypatch
):
    own_redis.kill()
    with servers[0].connect(pair.buyer) as buyer, servers[1].connect(pair.seller) as seller:
        for client in (buyer, seller):
            client.hear("hello")
            assert client.hear("live.changed")["live"] is False
        send_and_time(buyer, pair.thread, "into the dark")
        own_redis.start_again(monkeypatch)
        for client in (buyer, seller):
            assert client.hear("live.changed")["live"] is True
        buyer.send(pair.thread, "and there was light")
        assert hear_message(seller, "and there was light")


def test_whoever_leaves_while_redis_is_away_goes_without_a_trace(
    pair, servers, own_redis, monkeypatch
):
    with servers[0].connect(pair.buyer) as buyer:
        buyer.hear("hello")
        own_redis.kill()
        assert buyer.hear("live.changed")["live"] is False
    own_redis.start_again(monkeypatch)
    with servers[0].connect(pair.buyer) as buyer:
        while not buyer.hear("live.changed")["live"]:
            pass
        buyer.send(pair.thread, "back")
        assert hear_message(buyer, "back")
    assert "Exception inside application" not in servers[0].logs()


def test_nobody_waits_for_a_redis_that_hangs(pair, buyer, seller, own_redis):
    last = send_and_time(buyer, pair.thread, "before")[0]
    hear_message(seller, "before")
    own_redis.hang()
    sent = [send_and_time(buyer, pair.thread, f"hanging {number}") for number in range(20)]
    assert sent[0][1] < 3, "Whoever finds it hanging waits a little,"
    assert max(seconds for _, seconds in sent[1:]) < 0.75, "nobody else does."
    missed = caught_up(seller, pair.thread, last["message"])
    assert [message["body"] for message in missed] == [f"hanging {n}" for n in range(20)]

    own_redis.go_on()

    def is_back() -> bool:
        send_and_time(buyer, pair.thread, "is it back?")
        time.sleep(0.3)
        return any(e.get("body") == "is it back?" for e in heard_so_far(seller))

    wait_until(is_back, message="It did not come back.", interval=0)


def heard_so_far(client: Client) -> list[dict]:
    try:
        while True:
            client.hear(timeout=0.01)
    except TimeoutError:
        return client.heard


def test_a_server_that_was_killed_takes_nobody_else_with_it(pair, servers, buyer):
    with ExitStack() as stack:
        doomed = stack.enter_context(servers[1].connect(pair.seller))
        doomed.hear("hello")
        servers[1].process.kill()
        servers[1].process.wait()
        send_and_time(buyer, pair.thread, "anybody there?")
        seller = stack.enter_context(servers[0].connect(pair.seller))
        seller.hear("hello")
        send_and_time(buyer, pair.thread, "and now?")
        assert hear_message(seller, "and now?")
