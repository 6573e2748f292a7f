"""A client that sends a byte now and then is disconnected."""

import contextlib
import socket
import threading
import time

import pytest
from websockets.exceptions import ConnectionClosed

from tests.site import prepared_site

pytestmark = pytest.mark.slow

HEAD = b"POST /accounts/login/ HTTP/1.1\r\nHost: 127.0.0.1\r\n"
HANDSHAKE = b"GET /ws/ HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
# Tolerance for a busy machine; without a limit it would take minutes.
TIMEOUT_SECONDS = 20.0
INTERVAL_SECONDS = 0.1
FAST_LIMITS = {
    "PARLEY_HEADER_SECONDS": "1.5",
    "PARLEY_BODY_SECONDS": "1.5",
    "PARLEY_BODY_RATE": "2000",
}


@pytest.fixture(scope="module")
def slow_stores(tmp_path_factory):
    found = prepared_site(tmp_path_factory.mktemp("slow") / "data")
    found.env |= FAST_LIMITS
    return found


@pytest.fixture(scope="module")
def slow_site(slow_stores):
    slow_stores.start()
    yield slow_stores
    slow_stores.stop()


def connect(site) -> socket.socket:
    host, port = site.address.split(":")
    return socket.create_connection((host, int(port)), timeout=TIMEOUT_SECONDS)


def send_slowly(connection: socket.socket, start: bytes, part: bytes) -> tuple[float, bytes]:
    """Sends slowly until the server disconnects; returns the seconds and the response."""
    started_at, response = time.monotonic(), b""
    connection.sendall(start)
    connection.settimeout(INTERVAL_SECONDS)
    while time.monotonic() - started_at < TIMEOUT_SECONDS:
        try:
            connection.sendall(part)
            if not (chunk := connection.recv(4096)):
                break
            response += chunk
        except TimeoutError:
            continue
        except ConnectionError:
            break
    return time.monotonic() - started_at, response


@pytest.mark.parametrize(
    ("start", "more"),
    [
        (b"GET /", b"a"),
        (b"GET /healthz HTTP/1.1\r\n", b"X-A: b\r\n"),
        (HANDSHAKE, b"X-A: b\r\n"),
    ],
    ids=["first line", "headers", "websocket handshake"],
)
def test_headers_that_arrive_too_slowly_are_cut_off(slow_site, start, more):
    with connect(slow_site) as connection:
        seconds, response = send_slowly(connection, start, more)
    assert seconds < TIMEOUT_SECONDS / 2
    assert response == b"" or response.startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize(
    ("framing", "more"),
    [
        (b"Content-Length: 100000\r\n\r\n", b"a"),
        (b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n"),
    ],
    ids=["length", "chunked"],
)
def test_a_body_that_arrives_too_slowly_is_cut_off(slow_site, framing, more):
    with connect(slow_site) as connection:
        seconds, response = send_slowly(connection, HEAD + framing, more)
    assert seconds < TIMEOUT_SECONDS / 2
    assert response == b"" or response.startswith(b"HTTP/1.1 408")


def test_a_second_request_on_a_connection_is_timed_too(slow_site):
    with connect(slow_site) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert connection.recv(4096).startswith(b"HTTP/1.1 200")
        seconds, _ = send_slowly(connection, b"GET /healthz HTTP/1.1\r\n", b"X-A: b\r\n")
    assert seconds < TIMEOUT_SECONDS / 2


def test_a_body_above_the_minimum_rate_is_accepted_however_long_it_takes(slow_site):
    """Sends at twice the minimum rate, for more than twice the grace period of a body."""
    chunk, count = b"a" * 800, 20
    with connect(slow_site) as connection:
        connection.sendall(HEAD + f"Content-Length: {len(chunk) * count}\r\n\r\n".encode())
        for _ in range(count):
            connection.sendall(chunk)
            threading.Event().wait(0.2)
        response = connection.recv(64)
    assert response.startswith(b"HTTP/1.1 403")


def test_an_idle_websocket_is_not_closed(slow_site):
    pair = slow_site.pair()
    with slow_site.connect(pair.buyer) as buyer:
        buyer.hear("hello")
        with contextlib.suppress(TimeoutError):
            buyer.hear("nothing", timeout=4)
        buyer.say("ping", t=1)
        try:
            assert buyer.hear("pong")["t"] == 1
        except ConnectionClosed:
            pytest.fail("It was cut off.")
