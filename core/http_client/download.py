"""Downloads one file from a URL that an untrusted user chose.

Against server-side request forgery: only https, only public addresses, checked before connecting
and again after every redirect; no cookies, credentials or proxies; fixed limits of size and time.
"""

import contextlib
import io
import re
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urljoin, urlsplit

from core.http_client.addresses import is_public

CHUNK_BYTES = 1 << 16
MAX_REDIRECTS = 3
MAX_ADDRESSES = 4
REDIRECTS = (301, 302, 303, 307, 308)
# Status codes worth a retry.
RETRYABLE = (408, 425, 429, 500, 502, 503, 504)
UNSPECIFIC_TYPES = ("", "application/octet-stream", "binary/octet-stream")
NOT_MODIFIED = 304
_HOST = re.compile(r"[a-z0-9._-]{1,253}|[0-9a-f:.]{2,45}")


class DownloadFailed(Exception):
    """The file cannot be downloaded; unless it is permanent, a retry may succeed."""

    def __init__(self, why: str, *, is_permanent: bool = True) -> None:
        super().__init__(why)
        self.is_permanent = is_permanent


def resolve(host: str) -> list[str]:
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


@dataclass(frozen=True)
class DownloadRules:
    """Limits and dependencies of a download. There is no setting for them; tests replace them."""

    port: int = 443
    seconds: float = 15.0
    resolve: Callable[[str], list[str]] = resolve
    trust: Callable[[], ssl.SSLContext] = ssl.create_default_context
    # Addresses accepted although they are not public.
    exempt: frozenset[str] = field(default=frozenset())


RULES = DownloadRules()


class RequestTarget(NamedTuple):
    host: str
    path: str


@dataclass(frozen=True)
class ExpectedContent:
    """What a response may contain: types that start with `type_prefix` or name none."""

    accept: str
    type_prefix: str
    max_bytes: int


class DownloadResult(NamedTuple):
    """`is_modified` is False if the server answered a conditional request with 304."""

    is_modified: bool
    headers: Mapping[str, str]


def download(
    link: str, to: Path, expected: ExpectedContent, headers: Mapping[str, str] | None = None
) -> DownloadResult:
    """Downloads to the local disk. The caller has to detect the file type."""
    deadline = time.monotonic() + RULES.seconds
    try:
        return _follow(link, to, expected, headers or {}, deadline)
    except ssl.SSLCertVerificationError as error:
        raise DownloadFailed("certificate") from error
    except OSError as error:
        raise DownloadFailed(type(error).__name__, is_permanent=False) from error
    except (HTTPException, ValueError) as error:
        raise DownloadFailed(type(error).__name__) from error


def _follow(
    link: str,
    to: Path,
    expected: ExpectedContent,
    headers: Mapping[str, str],
    deadline: float,
) -> DownloadResult:
    sent = {"Accept": expected.accept, **headers}
    for _ in range(1 + MAX_REDIRECTS):
        target = parse_link(link)
        with contextlib.closing(_connect(target.host, deadline)) as connection:
            response = _request(connection, target, sent, deadline)
            if response.status == NOT_MODIFIED and headers:
                return DownloadResult(False, dict(response.headers))
            if response.status not in REDIRECTS:
                _read(response, to, expected)
                return DownloadResult(True, dict(response.headers))
            link = urljoin(link, response.headers.get("Location", ""))
    raise DownloadFailed("redirects")


def is_downloadable(link: str) -> bool:
    """Whether the link itself is acceptable, without a request."""
    try:
        parse_link(link)
    except (DownloadFailed, ValueError):
        return False
    return link.isprintable()


def parse_link(link: str) -> RequestTarget:
    """Raises DownloadFailed for a link that must not be requested."""
    parts = urlsplit(link)
    host = (parts.hostname or "").encode("idna").decode().lower()
    if parts.scheme != "https" or "@" in parts.netloc or not _HOST.fullmatch(host):
        raise DownloadFailed("address")
    if (parts.port or RULES.port) != RULES.port:
        raise DownloadFailed("port")
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~")
    if parts.query:
        path += "?" + quote(parts.query, safe="/%:@!$&'()*+,;=~?")
    return RequestTarget(host, path)


def _connect(host: str, deadline: float) -> ssl.SSLSocket:
    """Connects to the address that was checked: a second DNS lookup could give another one."""
    addresses = RULES.resolve(host)
    if not addresses or not all(is_public(each) or each in RULES.exempt for each in addresses):
        raise DownloadFailed("address")
    *others, last = addresses[:MAX_ADDRESSES]
    for address in others:
        # IPv4 or IPv6 may be unreachable from here.
        with contextlib.suppress(OSError):
            return _secure(address, host, deadline)
    return _secure(last, host, deadline)


def _secure(address: str, host: str, deadline: float) -> ssl.SSLSocket:
    plain = socket.create_connection((address, RULES.port), timeout=_remaining(deadline))
    try:
        plain.settimeout(_remaining(deadline))
        return RULES.trust().wrap_socket(plain, server_hostname=host)
    except BaseException:
        plain.close()
        raise


def _request(
    connection: ssl.SSLSocket, target: RequestTarget, headers: Mapping[str, str], deadline: float
) -> HTTPResponse:
    host = f"[{target.host}]" if ":" in target.host else target.host
    lines = [
        f"GET {target.path} HTTP/1.1",
        f"Host: {host}",
        "User-Agent: Parley",
        *(f"{name}: {value}" for name, value in headers.items()),
        "Accept-Encoding: identity",
        "Connection: close",
    ]
    connection.settimeout(_remaining(deadline))
    connection.sendall("\r\n".join([*lines, "", ""]).encode("ascii"))
    reader: Any = _DeadlineReader(connection, deadline)
    response = HTTPResponse(reader, method="GET")
    response.begin()
    return response


class _DeadlineReader(io.RawIOBase):
    """Reads until the deadline: the timeout of a socket restarts with every byte."""

    def __init__(self, connection: ssl.SSLSocket, deadline: float) -> None:
        self.connection, self.deadline = connection, deadline

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self.connection.settimeout(_remaining(self.deadline))
        return self.connection.recv_into(buffer)


def _remaining(deadline: float) -> float:
    remaining = deadline - time.monotonic()
    if remaining <= 0:
        raise TimeoutError
    return remaining


def _read(response: HTTPResponse, to: Path, expected: ExpectedContent) -> None:
    if response.status != 200:
        raise DownloadFailed(
            f"status {response.status}", is_permanent=response.status not in RETRYABLE
        )
    kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if not kind.startswith(expected.type_prefix) and kind not in UNSPECIFIC_TYPES:
        raise DownloadFailed("type")
    if response.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
        raise DownloadFailed("encoding")
    size = response.length or 0
    if size > expected.max_bytes:
        raise DownloadFailed("size")
    _copy(response, to, expected.max_bytes)


def _copy(response: HTTPResponse, to: Path, max_bytes: int) -> None:
    size = 0
    with to.open("wb") as copy:
        while chunk := response.read(CHUNK_BYTES):
            size += len(chunk)
            if size > max_bytes:
                raise DownloadFailed("size")
            copy.write(chunk)
    if response.length:
        raise DownloadFailed("cut off", is_permanent=False)
