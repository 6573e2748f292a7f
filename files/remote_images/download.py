"""Getting one picture from somewhere on the web, for somebody whom nobody vouches for.

Whoever gives an address chooses where we go: so only by https, only to public addresses, each
looked at before it is connected to and again after every redirect, without cookies, credentials or
proxies, and within limits of size and time that no server can stretch.
"""

import contextlib
import io
import re
import socket
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urljoin, urlsplit

from django.conf import settings

from files.remote_images.addresses import is_public

CHUNK = 1 << 16
MAX_REDIRECTS = 3
MAX_ADDRESSES = 4
REDIRECTS = (301, 302, 303, 307, 308)
# What may be different in a while.
LATER = (408, 425, 429, 500, 502, 503, 504)
UNNAMED = ("", "application/octet-stream", "binary/octet-stream")
_NAME = re.compile(r"[a-z0-9._-]{1,253}|[0-9a-f:.]{2,45}")


class DownloadFailed(Exception):
    """There is no picture, or none for us; if it is not for good, there may be one later."""

    def __init__(self, why: str, *, is_permanent: bool = True) -> None:
        super().__init__(why)
        self.is_permanent = is_permanent


def resolve(host: str) -> list[str]:
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


@dataclass(frozen=True)
class DownloadRules:
    """How one gets out. No setting changes them: what is different in tests, tests replace."""

    port: int = 443
    seconds: float = 15.0
    resolve: Callable[[str], list[str]] = resolve
    trust: Callable[[], ssl.SSLContext] = ssl.create_default_context
    # Taken for public, whatever they are.
    exempt: frozenset[str] = field(default=frozenset())


RULES = DownloadRules()


class RequestTarget(NamedTuple):
    host: str
    target: str


def download_image(link: str, to: Path) -> None:
    """What is behind the link, onto our disk; what it is has yet to be found out."""
    deadline = time.monotonic() + RULES.seconds
    try:
        _follow(link, to, deadline)
    except ssl.SSLCertVerificationError as error:
        raise DownloadFailed("certificate") from error
    except OSError as error:
        raise DownloadFailed(type(error).__name__, is_permanent=False) from error
    except (HTTPException, ValueError) as error:
        raise DownloadFailed(type(error).__name__) from error


def _follow(link: str, to: Path, deadline: float) -> None:
    for _ in range(1 + MAX_REDIRECTS):
        place = parse_link(link)
        with contextlib.closing(_connect(place.host, deadline)) as connection:
            answer = _ask(connection, place, deadline)
            if answer.status not in REDIRECTS:
                return _read(answer, to)
            link = urljoin(link, answer.headers.get("Location", ""))
    raise DownloadFailed("redirects")


def is_downloadable(link: str) -> bool:
    """Whether it is worth trying, by what it says."""
    try:
        parse_link(link)
    except (DownloadFailed, ValueError):
        return False
    return link.isprintable()


def parse_link(link: str) -> RequestTarget:
    """Where we would go, if we go there at all."""
    parts = urlsplit(link)
    host = (parts.hostname or "").encode("idna").decode().lower()
    if parts.scheme != "https" or "@" in parts.netloc or not _NAME.fullmatch(host):
        raise DownloadFailed("address")
    if (parts.port or RULES.port) != RULES.port:
        raise DownloadFailed("port")
    target = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~")
    if parts.query:
        target += "?" + quote(parts.query, safe="/%:@!$&'()*+,;=~?")
    return RequestTarget(host, target)


def _connect(host: str, deadline: float) -> ssl.SSLSocket:
    """To an address that was looked at: asked for once, so that no second answer can be another."""
    addresses = RULES.resolve(host)
    if not addresses or not all(is_public(each) or each in RULES.exempt for each in addresses):
        raise DownloadFailed("address")
    *others, last = addresses[:MAX_ADDRESSES]
    for address in others:
        # One of the two kinds of address may lead nowhere from here.
        with contextlib.suppress(OSError):
            return _secure(address, host, deadline)
    return _secure(last, host, deadline)


def _secure(address: str, host: str, deadline: float) -> ssl.SSLSocket:
    plain = socket.create_connection((address, RULES.port), timeout=_left(deadline))
    try:
        plain.settimeout(_left(deadline))
        return RULES.trust().wrap_socket(plain, server_hostname=host)
    except BaseException:
        plain.close()
        raise


def _ask(connection: ssl.SSLSocket, place: RequestTarget, deadline: float) -> HTTPResponse:
    host = f"[{place.host}]" if ":" in place.host else place.host
    lines = [
        f"GET {place.target} HTTP/1.1",
        f"Host: {host}",
        "User-Agent: Parley",
        "Accept: image/*",
        "Accept-Encoding: identity",
        "Connection: close",
    ]
    connection.settimeout(_left(deadline))
    connection.sendall("\r\n".join([*lines, "", ""]).encode("ascii"))
    timed: Any = _Timed(connection, deadline)
    answer = HTTPResponse(timed, method="GET")
    answer.begin()
    return answer


class _Timed(io.RawIOBase):
    """Reads until the deadline: a socket's own time-out begins anew with every byte that comes."""

    def __init__(self, connection: ssl.SSLSocket, deadline: float) -> None:
        self.connection, self.deadline = connection, deadline

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self.connection.settimeout(_left(self.deadline))
        return self.connection.recv_into(buffer)


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _read(answer: HTTPResponse, to: Path) -> None:
    if answer.status != 200:
        raise DownloadFailed(f"status {answer.status}", is_permanent=answer.status not in LATER)
    kind = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if not kind.startswith("image/") and kind not in UNNAMED:
        raise DownloadFailed("type")
    if answer.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
        raise DownloadFailed("encoding")
    most = settings.FILES["most_bytes"]
    size = answer.length or 0
    if size > most:
        raise DownloadFailed("size")
    _copy(answer, to, most)


def _copy(answer: HTTPResponse, to: Path, most: int) -> None:
    size = 0
    with to.open("wb") as copy:
        while chunk := answer.read(CHUNK):
            size += len(chunk)
            if size > most:
                raise DownloadFailed("size")
            copy.write(chunk)
    if answer.length:
        raise DownloadFailed("cut off", is_permanent=False)
