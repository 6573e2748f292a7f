"""Two servers on an engine whose indexes are ten seconds late: one knows what the other wrote."""

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
        # A test may take longer on a busy machine than the indexes do.
        one = Site(stores.folder, stores.env | more | {"PARLEY_INDEX_LAG_SECONDS": "60"})
        one.start()
        try:
            with one.another() as other:
                yield one, other
        finally:
            one.stop()


def test_a_page_of_another_server_shows_what_a_socket_or_a_form_wrote(servers):
    here, there = servers
    pair = here.pair()
    with here.connect(pair.buyer) as buyer:
        buyer.hear("hello")
        buyer.send(pair.thread, TEXT)
        buyer.hear("message.accepted")
    for account in (pair.buyer, pair.seller):
        assert TEXT in there.get("/inbox/", account)[1]

    fields = {"act": "archive", "thread": pair.thread}
    assert Visitor.of(here, pair.buyer).post("/inbox/act/", form_at="/inbox/", **fields)[0] == 302
    assert TEXT in there.get("/inbox/archived/", pair.buyer)[1]
    assert TEXT not in there.get("/inbox/", pair.buyer)[1]
