"""The way to DynamoDB: its JSON over HTTP/1.1, signed, on connections that are kept.

In the place of botocore's client, whose own work costs several times what the embedded engine needs
for a request. What PynamoDB hands over is the body of the request already, and what comes back is
what it wants; errors are botocore's, so that nobody else notices the difference.
"""

import contextlib
import datetime
import functools
import hashlib
import hmac
import os
import random
import select
import socket
import ssl
import threading
import time
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import orjson
from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ReadTimeoutError,
)
from botocore.session import get_session

from realtime import figures

TARGET = "DynamoDB_20120810"
SIGNED = "content-type;host;x-amz-date;x-amz-target"
# Asked once more, soon; whoever asked decides about more. A transaction has a token, by which the
# store knows it again; other writes are conditional, or change nothing the second time.
PASSING = {"InternalServerError", "ServiceUnavailable", "ThrottlingException"}
ATTEMPTS = 2
# AWS closes what was quiet for a while; before that we do.
QUIET = 20.0

Answer = dict[str, Any]


class Client:
    """What PynamoDB calls in the place of botocore's client."""

    def __init__(
        self,
        *,
        region: str,
        endpoint: str | None,
        connect_timeout: float,
        read_timeout: float,
        most_idle: int = 64,
    ) -> None:
        self.endpoint = endpoint or f"https://dynamodb.{region}.amazonaws.com"
        self._signer = Signer(region, urlsplit(self.endpoint).netloc)
        self._timeouts = connect_timeout, read_timeout
        self._most_idle = most_idle
        self._idle: list[Line] = []
        # Connections are not shared with a process that was forked off.
        self._pid = os.getpid()

    def _make_api_call(self, operation: str, arguments: dict[str, Any]) -> Answer:
        if operation == "TransactWriteItems":
            arguments = {"ClientRequestToken": str(uuid4()), **arguments}
        body = orjson.dumps(arguments)
        for attempt in range(1, ATTEMPTS + 1):
            is_last = attempt == ATTEMPTS
            try:
                status, headers, answer = self._send(operation, body)
            except (EndpointConnectionError, ConnectionClosedError):
                if is_last:
                    raise
                continue
            if status == 200:
                return _with_metadata(answer, status, headers)
            error = _error_of(operation, status, headers, answer)
            if is_last or not (status >= 500 or error.response["Error"]["Code"] in PASSING):
                raise error
            time.sleep(random.uniform(0.01, 0.1))
        raise AssertionError("not reached")

    def _send(self, operation: str, body: bytes) -> tuple[int, bytes, bytes]:
        request = self._signer.signed(operation, body)
        line = self._take()
        try:
            answer = line.ask(request)
        except BaseException:
            line.close()
            raise
        self._give_back(line)
        return answer

    def _take(self) -> "Line":
        if self._pid != os.getpid():
            self._idle, self._pid = [], os.getpid()
        with contextlib.suppress(IndexError):
            while True:
                # The one used last: the others may be closed some day.
                line = self._idle.pop()
                if line.is_usable():
                    return line
                line.close()
        figures.CONNECTIONS.inc()
        return Line(self.endpoint, *self._timeouts)

    def _give_back(self, line: "Line") -> None:
        if line.is_kept and len(self._idle) < self._most_idle:
            self._idle.append(line)
        else:
            line.close()


class Line:
    """One connection, one request at a time."""

    def __init__(self, endpoint: str, connect_timeout: float, read_timeout: float) -> None:
        self.endpoint = endpoint
        parts = urlsplit(endpoint)
        is_safe = parts.scheme == "https"
        address = parts.hostname or "", parts.port or (443 if is_safe else 80)
        try:
            self._socket = socket.create_connection(address, connect_timeout)
            if is_safe:
                self._socket = _tls().wrap_socket(self._socket, server_hostname=address[0])
        except TimeoutError as error:
            raise ConnectTimeoutError(endpoint_url=endpoint, error=error) from error
        except OSError as error:
            raise EndpointConnectionError(endpoint_url=endpoint, error=error) from error
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.settimeout(read_timeout)
        self.is_kept = True
        self.used_at = time.monotonic()

    def is_usable(self) -> bool:
        """Nobody has hung up, as far as can be seen without asking."""
        if time.monotonic() - self.used_at > QUIET:
            return False
        # TLS gives no such glance; there the clock decides.
        return isinstance(self._socket, ssl.SSLSocket) or not _has_news(self._socket)

    def ask(self, request: bytes) -> tuple[int, bytes, bytes]:
        try:
            self._socket.sendall(request)
            answer = self._read()
        except TimeoutError as error:
            raise ReadTimeoutError(endpoint_url=self.endpoint, error=error) from error
        except (OSError, ValueError) as error:
            raise ConnectionClosedError(endpoint_url=self.endpoint, error=error) from error
        self.used_at = time.monotonic()
        return answer

    def _read(self) -> tuple[int, bytes, bytes]:
        received = b""
        while (end := received.find(b"\r\n\r\n")) < 0:
            received += self._receive()
        head = received[:end]
        if b"chunked" in _header(head, b"transfer-encoding"):
            raise ValueError("DynamoDB says how long its answers are")
        size = int(_header(head, b"content-length") or 0)
        self.is_kept = _header(head, b"connection").lower() != b"close"
        parts, left = [received[end + 4 :]], size - (len(received) - end - 4)
        while left > 0:
            part = self._receive()
            parts.append(part)
            left -= len(part)
        return int(head[9:12]), head, b"".join(parts)

    def _receive(self) -> bytes:
        part = self._socket.recv(256 * 1024)
        if not part:
            raise ConnectionError("closed in the middle of an answer")
        return part

    def close(self) -> None:
        self._socket.close()


def _has_news(idle: socket.socket) -> bool:
    """Of a connection on which nothing was asked there is only one kind: it has ended."""
    glance = select.poll()
    glance.register(idle, select.POLLIN)
    return bool(glance.poll(0))


@functools.cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()


def _header(head: bytes, name: bytes) -> bytes:
    at = head.lower().find(b"\r\n" + name + b":")
    if at < 0:
        return b""
    begin = at + len(name) + 3
    end = head.find(b"\r\n", begin)
    return head[begin : end if end >= 0 else len(head)].strip()


# --- What came back


def _with_metadata(answer: bytes, status: int, head: bytes) -> Answer:
    read: Answer = orjson.loads(answer)
    read["ResponseMetadata"] = _metadata(status, head)
    return read


def _metadata(status: int, head: bytes) -> dict[str, Any]:
    names = ("date", "x-amzn-requestid")
    headers = {name: _header(head, name.encode()).decode("latin1") for name in names}
    return {"HTTPStatusCode": status, "HTTPHeaders": headers}


def _error_of(operation: str, status: int, head: bytes, answer: bytes) -> ClientError:
    try:
        said = orjson.loads(answer)
    except orjson.JSONDecodeError:
        said = {}
    code = str(said.pop("__type", status)).rpartition("#")[2]
    message = said.pop("message", "") or said.pop("Message", "")
    described: Any = {
        **said,
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": _metadata(status, head),
    }
    return ClientError(described, operation)


# --- Signing, AWS's way (Signature Version 4)


class Signer:
    def __init__(self, region: str, host: str) -> None:
        self.region, self.host = region, host
        self._session = get_session()
        self._looking = threading.Lock()
        self._credentials: Any = None
        self._key_for: tuple[str, str] = ("", "")
        self._key = b""

    def signed(self, operation: str, body: bytes) -> bytes:
        """The whole request, ready to be sent."""
        credentials = self._known_credentials()
        now = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
        scope = f"{now[:8]}/{self.region}/dynamodb/aws4_request"
        headers = (
            "content-type:application/x-amz-json-1.0\n"
            f"host:{self.host}\nx-amz-date:{now}\nx-amz-target:{TARGET}.{operation}\n"
        )
        names = SIGNED
        if credentials.token:
            headers = headers.replace(
                "x-amz-target", f"x-amz-security-token:{credentials.token}\nx-amz-target"
            )
            names = names.replace("x-amz-target", "x-amz-security-token;x-amz-target")
        canonical = f"POST\n/\n\n{headers}\n{names}\n{hashlib.sha256(body).hexdigest()}"
        digest = hashlib.sha256(canonical.encode()).hexdigest()
        to_sign = f"AWS4-HMAC-SHA256\n{now}\n{scope}\n{digest}"
        key = self._signing_key(credentials.secret_key, now[:8])
        signature = hmac.digest(key, to_sign.encode(), "sha256").hex()
        return (
            f"POST / HTTP/1.1\r\n{headers.replace(chr(10), chr(13) + chr(10))}"
            f"authorization:AWS4-HMAC-SHA256 Credential={credentials.access_key}/{scope}, "
            f"SignedHeaders={names}, Signature={signature}\r\n"
            f"content-length:{len(body)}\r\n\r\n"
        ).encode() + body

    def _known_credentials(self) -> Any:
        """Those of a role change from time to time; botocore sees to that."""
        if self._credentials is None:
            with self._looking:
                self._credentials = self._session.get_credentials()
        if self._credentials is None:
            raise NoCredentialsError
        return self._credentials.get_frozen_credentials()

    def _signing_key(self, secret: str, day: str) -> bytes:
        if self._key_for != (secret, day):
            key = f"AWS4{secret}".encode()
            for part in (day, self.region, "dynamodb", "aws4_request"):
                key = hmac.digest(key, part.encode(), "sha256")
            self._key, self._key_for = key, (secret, day)
        return self._key
