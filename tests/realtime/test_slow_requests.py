"""A client that sends a byte now and then does not hold a connection for it."""

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
# On a machine with much else to do; without a limit it would be minutes.
TIMEOUT_SECONDS = 20.0
EVERY = 0.1
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


def drip(link: socket.socket, begin: bytes, bytes_at_once: bytes) -> tuple[float, bytes]:
    """Sends a little again and again until the server ends it: after how long, and with what."""
    begun, answer = time.monotonic(), b""
    link.sendall(begin)
    link.settimeout(EVERY)
    while time.monotonic() - begun < TIMEOUT_SECONDS:
        try:
            link.sendall(bytes_at_once)
            if not (chunk := link.recv(4096)):
                break
            answer += chunk
        except TimeoutError:
            continue
        except ConnectionError:
            break
    return time.monotonic() - begun, answer


@pytest.mark.parametrize(
    ("begin", "more"),
    [
        (b"GET /", b"a"),
        (b"GET /healthz HTTP/1.1\r\n", b"X-A: b\r\n"),
        (HANDSHAKE, b"X-A: b\r\n"),
    ],
    ids=["first line", "headers", "websocket handshake"],
)
def test_headers_that_drip_are_cut_off(slow_site, begin, more):
    with connect(slow_site) as link:
        seconds, answer = drip(link, begin, more)
    assert seconds < TIMEOUT_SECONDS / 2
    assert answer == b"" or answer.startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize(
    ("framing", "more"),
    [
        (b"Content-Length: 100000\r\n\r\n", b"a"),
        (b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n"),
    ],
    ids=["length", "chunked"],
)
def test_a_body_that_drips_is_cut_off(slow_site, framing, more):
    with connect(slow_site) as link:
        seconds, answer = drip(link, HEAD + framing, more)
    assert seconds < TIMEOUT_SECONDS / 2
    assert answer == b"" or answer.startswith(b"HTTP/1.1 408")


def test_a_second_request_on_a_connection_is_timed_too(slow_site):
    with connect(slow_site) as link:
        link.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert link.recv(4096).startswith(b"HTTP/1.1 200")
        seconds, _ = drip(link, b"GET /healthz HTTP/1.1\r\n", b"X-A: b\r\n")
    assert seconds < TIMEOUT_SECONDS / 2


def test_a_body_that_keeps_the_rate_is_taken_however_long_it_takes(slow_site):
    """Twice the minimum rate for more than twice the time in which a body may be slow."""
    chunk, count = b"a" * 800, 20
    with connect(slow_site) as link:
        link.sendall(HEAD + f"Content-Length: {len(chunk) * count}\r\n\r\n".encode())
        for _ in range(count):
            link.sendall(chunk)
            threading.Event().wait(0.2)
        answer = link.recv(64)
    assert answer.startswith(b"HTTP/1.1 403")


def test_an_open_socket_that_says_nothing_is_left_alone(slow_site):
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
