"""HTTP responses of DynamoDB, for both clients. Errors are botocore's."""

from typing import Any

import orjson
from botocore.exceptions import ClientError

# AWS closes idle connections after a while; ours are closed earlier.
MAX_IDLE_SECONDS = 20.0

Response = dict[str, Any]


class ResponseReader:
    """Collects a response from the parts in which it arrives."""

    def __init__(self) -> None:
        self._received = b""
        # The ends of the head and of the whole response, or -1 while unknown.
        self._head_end = self._end = -1

    def add(self, part: bytes) -> bool:
        """Adds a part; returns whether the response is complete."""
        self._received += part
        if self._head_end < 0:
            self._read_head()
        return 0 < self._end <= len(self._received)

    def _read_head(self) -> None:
        self._head_end = self._received.find(b"\r\n\r\n")
        if self._head_end < 0:
            return
        if b"chunked" in _header(self.head, b"transfer-encoding"):
            raise ValueError("DynamoDB does not send chunked responses")
        self._end = self._head_end + 4 + int(_header(self.head, b"content-length") or 0)

    @property
    def head(self) -> bytes:
        return self._received[: self._head_end]

    @property
    def is_last(self) -> bool:
        """Whether the server closes the connection after this response."""
        return _header(self.head, b"connection").lower() == b"close"

    def parse(self, operation: str) -> Response | ClientError:
        status, body = int(self.head[9:12]), self._received[self._head_end + 4 :]
        metadata = _metadata(status, self.head)
        if status != 200:
            return _parse_error(operation, body, metadata)
        parsed: Response = orjson.loads(body)
        parsed["ResponseMetadata"] = metadata
        return parsed


def _header(head: bytes, name: bytes) -> bytes:
    at = head.lower().find(b"\r\n" + name + b":")
    if at < 0:
        return b""
    begin = at + len(name) + 3
    end = head.find(b"\r\n", begin)
    return head[begin : end if end >= 0 else len(head)].strip()


def _metadata(status: int, head: bytes) -> dict[str, Any]:
    names = ("date", "x-amzn-requestid")
    headers = {name: _header(head, name.encode()).decode("latin1") for name in names}
    return {"HTTPStatusCode": status, "HTTPHeaders": headers}


def _parse_error(operation: str, body: bytes, metadata: dict[str, Any]) -> ClientError:
    try:
        described = orjson.loads(body)
    except orjson.JSONDecodeError:
        described = {}
    code = str(described.pop("__type", metadata["HTTPStatusCode"])).rpartition("#")[2]
    message = described.pop("message", "") or described.pop("Message", "")
    response: Any = {
        **described,
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": metadata,
    }
    return ClientError(response, operation)
