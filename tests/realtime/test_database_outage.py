"""While PostgreSQL hangs or is down, sockets stay open and requests that need SQL fail quickly."""

import json
import secrets
import time
import urllib.request
from collections.abc import Iterator

import pytest
from websockets.exceptions import ConnectionClosed

from tests.realtime.conftest import OwnPostgres, postgres_folder
from tests.site import Client, Site, prepared_site
from tests.wait import wait_until

pytestmark = pytest.mark.slow

# The guarantee is two seconds; the rest is tolerance for a busy machine.
MAX_SECONDS = 4.0
NO_FILE = "file_01JZZZZZZZZZZZZZZZZZZZZZZZ"


@pytest.fixture(scope="module")
def postgres() -> Iterator[OwnPostgres]:
    with postgres_folder() as folder:
        server = OwnPostgres(folder)
        yield server
        server.stop()


@pytest.fixture(scope="module")
def own_site(postgres, tmp_path_factory) -> Iterator[Site]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DATABASE_URL", postgres.url)
        patch.setenv("SECRET_KEY", secrets.token_urlsafe(64))
        patch.setenv("PARLEY_HTTPS", "off")
        site = prepared_site(tmp_path_factory.mktemp("database") / "data")
    site.env["PARLEY_SESSION_CHECK_SECONDS"] = "1"
    site.start()
    yield site
    site.stop()


@pytest.fixture
def strict_site(own_site) -> Iterator[Site]:
    """A server that closes a socket after two seconds without a session check."""
    other = Site(own_site.folder, own_site.env | {"PARLEY_SESSION_GRACE_SECONDS": "2"})
    other.start()
    yield other
    other.stop()


def timed_get(site: Site, path: str, account, **headers: str) -> tuple[int, str, float]:
    request = urllib.request.Request(site.url + path, headers=headers)
    request.add_header("Cookie", f"sessionid={account.cookie}")
    started_at = time.monotonic()
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            status, text = answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        status, text = error.code, error.read().decode()
    return status, text, time.monotonic() - started_at


def close_code(client: Client, seconds: float = 30) -> int:
    with pytest.raises(ConnectionClosed) as closed:
        client.hear("nothing", timeout=seconds)
    return closed.value.rcvd.code


def wait_for_log(site: Site, event: str, count: int = 1) -> None:
    message = f"No {event} in the log."
    wait_until(lambda: site.logs().count(event) >= count, 60, message=message, interval=0.1)


def wait_until_back(site: Site, account) -> None:
    message = "The database is back, the site is not."
    wait_until(
        lambda: timed_get(site, "/inbox/", account)[0] == 200, 60, message=message, interval=0.2
    )


@pytest.mark.parametrize("outage", ["hang", "kill"])
def test_sockets_survive_an_outage_and_pages_answer_quickly(own_site, postgres, outage):
    pair = own_site.pair()
    postponed = own_site.logs().count("session_checks_postponed")
    with own_site.connect(pair.buyer) as buyer, own_site.connect(pair.seller) as seller:
        for client in (buyer, seller):
            client.hear("hello")
        assert timed_get(own_site, "/inbox/", pair.buyer)[0] == 200
        getattr(postgres, outage)()
        try:
            _check_pages(own_site, pair.buyer)
            _check_socket(buyer, pair.thread)
            with own_site.connect(pair.buyer) as late:
                assert close_code(late) == 4503
            wait_for_log(own_site, "session_checks_postponed", postponed + 1)
            buyer.send(pair.thread, f"written without SQL ({outage})")
            assert seller.hear("message.sent")["body"].startswith("written without SQL")
        finally:
            postgres.resume()
        wait_until_back(own_site, pair.buyer)
        wait_for_log(own_site, "session_checks_resumed", postponed + 1)
        for client in (buyer, seller):
            client.say("ping", t=7)
            assert client.hear("pong")["t"] == 7
        with own_site.connect(pair.buyer) as again:
            assert again.hear("hello")["user"] == pair.buyer.id


def _check_pages(site: Site, account) -> None:
    for _ in range(3):
        status, text, seconds = timed_get(site, "/inbox/", account)
        assert (status, "available right now" in text) == (503, True)
        assert seconds < MAX_SECONDS
    status, text, seconds = timed_get(site, "/inbox/", account, Accept="application/json")
    assert (status, json.loads(text)["code"]) == (503, "TRY_AGAIN")
    assert seconds < MAX_SECONDS


def _check_socket(client: Client, thread: str) -> None:
    client.say("ping", t=5)
    assert client.hear("pong")["t"] == 5
    started_at = time.monotonic()
    client.send(thread, "with a file", attachments=[NO_FILE])
    assert client.hear("error")["code"] == "TRY_AGAIN"
    assert time.monotonic() - started_at < MAX_SECONDS


def test_a_socket_is_closed_after_too_long_without_a_session_check(own_site, strict_site, postgres):
    pair = own_site.pair()
    with strict_site.connect(pair.buyer) as buyer, own_site.connect(pair.seller) as seller:
        buyer.hear("hello")
        seller.hear("hello")
        postgres.hang()
        try:
            assert close_code(buyer) == 4503
            seller.say("ping", t=9)
            assert seller.hear("pong")["t"] == 9
        finally:
            postgres.resume()
        wait_until_back(own_site, pair.seller)
