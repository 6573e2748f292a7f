"""Two servers on an engine whose indexes lag by ten seconds: each shows what the other wrote."""

from collections.abc import Iterator

import pytest

from tests.indexes import lagging_engine
from tests.realtime.visitor import Visitor
from tests.site import Site, prepared_site

pytestmark = pytest.mark.slow

DELAY_MS = 10_000
TEXT = "Shall we say a quarter past four?"


@pytest.fixture
def servers(tmp_path, own_redis, monkeypatch) -> Iterator[tuple[Site, Site]]:
    with lagging_engine(tmp_path / "engine", monkeypatch, delay_ms=DELAY_MS):
        stores = prepared_site(tmp_path / "data")
        more = {"REDIS_URL": own_redis.url, "PARLEY_DRAIN_SECONDS": "0"}
        # On a busy machine a test may take longer than the indexes lag.
        one = Site(stores.folder, stores.env | more | {"PARLEY_INDEX_LAG_SECONDS": "60"})
        one.start()
        try:
            with one.another() as other:
                yield one, other
        finally:
            one.stop()


def test_a_page_of_another_server_shows_writes_of_a_socket_and_of_a_form(servers):
    first, second = servers
    pair = first.pair()
    with first.connect(pair.buyer) as buyer:
        buyer.hear("hello")
        buyer.send(pair.thread, TEXT)
        buyer.hear("message.accepted")
    for account in (pair.buyer, pair.seller):
        assert TEXT in second.get("/inbox/", account)[1]

    fields = {"act": "archive", "thread": pair.thread}
    assert Visitor.of(first, pair.buyer).post("/inbox/act/", form_at="/inbox/", **fields)[0] == 302
    assert TEXT in second.get("/inbox/archived/", pair.buyer)[1]
    assert TEXT not in second.get("/inbox/", pair.buyer)[1]
