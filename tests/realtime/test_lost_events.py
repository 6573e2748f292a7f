"""Two servers: what one of them did not publish, or the other did not receive, arrives with a
heartbeat. Without a loss a heartbeat reads nothing; see test_heartbeat.py."""

import time
from collections.abc import Iterator

import pytest

from tests.realtime.losing_server import LAST_WORDS, LOST
from tests.site import Client, Pair, Site, prepared_site

pytestmark = pytest.mark.slow
# The periodic reads of the server are rarer than that.
MAX_SECONDS = 20.0


@pytest.fixture(scope="module")
def stores(tmp_path_factory) -> Site:
    return prepared_site(tmp_path_factory.mktemp("losing") / "data")


@pytest.fixture
def servers(stores, own_redis) -> Iterator[list[Site]]:
    env = stores.env | {"REDIS_URL": own_redis.url, "PARLEY_DRAIN_SECONDS": "0"}
    servers = [Site(stores.folder, env) for _ in range(2)]
    for server in servers:
        server.module = "tests.realtime.losing_server"
        server.start()
    yield servers
    for server in servers:
        server.stop()


def ping(client: Client, **position: object) -> dict:
    client.say("ping", t=1, **position)
    return client.hear("pong")


def lose(pair: Pair, servers: list[Site], body: str) -> tuple[list[str], list[str]]:
    """The buyer sends on the first server. Returns the bodies that a page of the seller with the
    thread on the screen gets, and the pending threads of one that shows something else."""
    with (
        servers[0].connect(pair.buyer) as buyer,
        servers[1].connect(pair.seller) as page,
        servers[1].connect(pair.seller) as inbox,
    ):
        for client in (buyer, page, inbox):
            client.hear("hello")
        page.say("thread.open", thread=pair.thread)
        synced = page.hear("thread.synced")
        position = {"thread": pair.thread, "seq": synced["last_seq"], "rev": synced["rev"]}
        mark = {name: synced["messages"][-1][name] for name in ("message", "seq", "tally")}
        page.say("thread.mark_delivered", thread=pair.thread, **mark)
        page.hear("cursor.moved")
        for client in (page, inbox):
            ping(client, **(position if client is page else {}))
        buyer.send(pair.thread, body)
        deadline, found, pending = time.monotonic() + MAX_SECONDS, [], []
        while not (found and pending) and time.monotonic() < deadline:
            time.sleep(0.5)
            pending += [one["thread"] for one in ping(inbox)["pending"]]
            ping(page, **position)
            found = [m["body"] for e in page.heard[1:] for m in e.get("messages", ())][
                len(synced["messages"]) :
            ]
        assert not [e for e in page.heard if e["type"] == "message.sent"], "It was not lost."
        return found, pending


def test_a_message_that_the_bus_lost_arrives_with_a_heartbeat(servers, stores):
    pair = stores.pair()
    found, pending = lose(pair, servers, LOST)
    assert found[0] == LOST
    assert pair.thread in pending


def test_a_message_of_a_server_that_died_before_publishing_arrives_with_a_heartbeat(
    servers, stores
):
    pair = stores.pair()
    found, pending = lose(pair, servers, LAST_WORDS)
    assert servers[0].process.wait(10) == 9
    assert found[0] == LAST_WORDS
    assert pair.thread in pending
