"""Requests have a maximum size, far below what would fill a disk."""

import socket
from urllib.request import urlopen

import pytest

from messaging_site.server.limits import MAX_BODY_BYTES

HEAD = b"POST /accounts/login/ HTTP/1.1\r\nHost: 127.0.0.1\r\n"


def send_raw(site, *parts: bytes) -> bytes:
    host, port = site.address.split(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        try:
            for part in parts:
                connection.sendall(part)
            return connection.recv(64)
        except ConnectionError:
            return b""


def test_a_declared_length_above_the_limit_is_refused_immediately(site):
    response = send_raw(site, HEAD + f"Content-Length: {MAX_BODY_BYTES + 1}\r\n\r\n".encode())
    assert response.startswith(b"HTTP/1.1 413")


def test_a_length_of_thousands_of_digits_is_refused_immediately(site):
    response = send_raw(site, HEAD + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n")
    assert response == b"" or response.startswith((b"HTTP/1.1 400", b"HTTP/1.1 413"))
    assert site.get("/healthz")[0] == 200


def test_a_chunked_body_above_the_limit_is_refused(site):
    chunk = b"%x\r\n%s\r\n" % (1 << 20, b"a" * (1 << 20))
    more = [chunk] * (MAX_BODY_BYTES // (1 << 20) + 3)
    response = send_raw(site, HEAD + b"Transfer-Encoding: chunked\r\n\r\n", *more)
    # A client that keeps sending may not read the response.
    assert response == b"" or response.startswith(b"HTTP/1.1 413")
    assert site.get("/healthz")[0] == 200


@pytest.mark.parametrize("size", [10, 1 << 20])
def test_a_body_within_the_limit_is_answered(site, size):
    body = HEAD + f"Content-Length: {size}\r\n\r\n".encode() + b"a" * size
    assert send_raw(site, body).startswith(b"HTTP/1.1 403")


def test_headers_have_a_maximum_size(site):
    response = send_raw(site, b"GET /healthz HTTP/1.1\r\nX: ", *[b"x" * 65_536] * 8)
    assert response == b"" or response.startswith(b"HTTP/1.1 400")
    assert site.get("/healthz")[0] == 200


def test_bytes_that_are_not_http_are_a_bad_request(site):
    assert send_raw(site, b"NOT HTTP AT ALL\r\n\r\n").startswith(b"HTTP/1.1 400")


def test_the_server_header_names_neither_the_server_nor_its_version(site):
    with urlopen(f"{site.url}/healthz", timeout=10) as response:
        assert response.headers.get_all("Server") == ["parley"]
