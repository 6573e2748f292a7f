"""The service behind a proxy that throttles and cuts connections: pages and messages succeed.

An outage costs few attempts and few log lines.
"""

import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest

from tests.site import Pair, Site, prepared_site
from tests.soak import proxy as proxies
from tests.soak.background import Background
from tests.soak.proxy import AWAY, Proxy
from tests.wait import wait_until

pytestmark = pytest.mark.slow

ALWAYS = 600.0
OUTAGE_SECONDS = 5.0
# Twenty failures open the breaker; the rest are requests in flight at that time.
MAX_OUTAGE_ATTEMPTS = 60


@pytest.fixture(scope="module")
def proxy() -> Iterator[Proxy]:
    engine = urlsplit(os.environ["PARLEY_DYNAMODB_ENDPOINT"]).port or 0
    with Background() as background:
        proxy = Proxy(engine, seed=15)
        background.run(proxy.start())
        yield proxy
        background.run(proxy.stop())


@pytest.fixture(scope="module")
def site(proxy: Proxy, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    site = prepared_site(tmp_path_factory.mktemp("throttled") / "data")
    site.env["PARLEY_DYNAMODB_ENDPOINT"] = f"http://127.0.0.1:{proxy.port}"
    site.start()
    yield site
    site.stop()


@pytest.fixture
def pair(site: Site, proxy: Proxy) -> Iterator[Pair]:
    proxy.clear()
    yield site.pair()
    proxy.clear()


def test_no_page_fails_when_a_tenth_of_the_requests_is_throttled(site, proxy, pair):
    paths = ["/inbox/", f"/threads/{pair.thread}/", "/inbox/archived/", "/inbox/counts/"]
    assert [site.get(path, pair.buyer)[0] for path in paths] == [200] * len(paths)
    proxy.happened.clear()
    proxy.begin("throttled", chance=0.1, seconds=ALWAYS)
    answers = Counter(site.get(path, pair.buyer)[0] for path in paths * 30)

    assert answers == {200: 120}
    assert proxy.happened["throttled"] > 20


@pytest.mark.parametrize("fault", ["broken", "slow", AWAY])
def test_no_page_fails_when_requests_are_broken_delayed_or_cut(
    site, proxy, pair, fault, monkeypatch
):
    monkeypatch.setattr(proxies, "MAX_DELAY_SECONDS", 0.4)
    proxy.happened.clear()
    proxy.begin(fault, chance=0.1, seconds=ALWAYS)
    paths = ["/inbox/", f"/threads/{pair.thread}/"] * 15
    assert Counter(site.get(path, pair.buyer)[0] for path in paths) == {200: 30}
    assert proxy.happened[fault] > 3


@pytest.mark.parametrize("fault", ["throttled", "conflict", "broken", "cut"])
def test_no_message_is_lost_or_duplicated_when_a_third_of_the_requests_fails(
    site, proxy, pair, fault
):
    proxy.happened.clear()
    with site.connect(pair.buyer) as buyer, site.connect(pair.seller) as seller:
        buyer.hear("hello")
        seller.hear("hello")
        proxy.begin(fault, chance=0.3, seconds=ALWAYS)
        latencies = []
        for number in range(20):
            begun = time.monotonic()
            client_id = buyer.send(pair.thread, f"Number {number}")
            answer = buyer.hear("message.accepted", "error")
            latencies.append(time.monotonic() - begun)
            assert (answer["type"], answer["client_id"]) == ("message.accepted", client_id)
        proxy.clear()
        received = [seller.hear("message.sent")["body"] for _ in range(20)]

    assert received == [f"Number {number}" for number in range(20)]
    page = site.get(f"/threads/{pair.thread}/", pair.buyer)[1]
    assert [page.count(f"<p>Number {number}</p>") for number in range(20)] == [1] * 20
    # 20 transactions, of which fewer than three fail once in 30 runs.
    assert proxy.happened[fault]
    assert sorted(latencies)[10] < 2.0


@pytest.mark.parametrize("fault", [AWAY, "throttled"])
def test_an_outage_costs_few_attempts_and_few_log_lines(site, proxy, pair, fault):
    path = f"/threads/{pair.thread}/"
    assert site.get(path, pair.buyer)[0] == 200
    logged = len(site.logs())
    proxy.requests.clear()
    proxy.begin(fault, chance=1, seconds=ALWAYS)
    pages = _visit_for(OUTAGE_SECONDS, site, pair)
    attempts = proxy.requests.total()
    proxy.clear()
    _wait_until_available(site, pair)

    assert set(pages) == {503}
    assert attempts < MAX_OUTAGE_ATTEMPTS
    lines = [_event(line) for line in site.logs()[logged:].splitlines()]
    assert lines.count("store_breaker_opened") == 1
    assert lines.count("store_breaker_closed") == 1
    assert len(lines) < MAX_OUTAGE_ATTEMPTS


def _visit_for(seconds: float, site: Site, pair: Pair) -> Counter[int]:
    end = time.monotonic() + seconds

    def visit(_: int) -> Counter[int]:
        found: Counter[int] = Counter()
        while time.monotonic() < end:
            found[site.get(f"/threads/{pair.thread}/", pair.buyer)[0]] += 1
        return found

    with ThreadPoolExecutor(8) as pool:
        return sum(pool.map(visit, range(8)), Counter())


def _wait_until_available(site: Site, pair: Pair) -> None:
    wait_until(lambda: site.get(f"/threads/{pair.thread}/", pair.buyer)[0] == 200, 30, interval=0.1)


def _event(line: str) -> str:
    return json.loads(line)["event"] if line.startswith("{") else line
