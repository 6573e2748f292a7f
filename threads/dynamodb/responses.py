"""What is sent to DynamoDB and what comes back, whichever way it goes: errors are botocore's."""

from typing import Any

import orjson
from botocore.exceptions import ClientError

# AWS closes what was quiet for a while; before that we do.
MAX_IDLE_SECONDS = 20.0

Response = dict[str, Any]


class ResponseReader:
    """An answer that comes in pieces."""

    def __init__(self) -> None:
        self._received = b""
        # Up to where there is the head, and up to where there is all of it, once that is known.
        self._head_end = self._end = -1

    def take(self, part: bytes) -> bool:
        """Whether it is all there now."""
        self._received += part
        if self._head_end < 0:
            self._read_head()
        return 0 < self._end <= len(self._received)

    def _read_head(self) -> None:
        self._head_end = self._received.find(b"\r\n\r\n")
        if self._head_end < 0:
            return
        if b"chunked" in _header(self.head, b"transfer-encoding"):
            raise ValueError("DynamoDB says how long its answers are")
        self._end = self._head_end + 4 + int(_header(self.head, b"content-length") or 0)

    @property
    def head(self) -> bytes:
        return self._received[: self._head_end]

    @property
    def is_last(self) -> bool:
        """Of its connection."""
        return _header(self.head, b"connection").lower() == b"close"

    def outcome(self, operation: str) -> Response | ClientError:
        status, body = int(self.head[9:12]), self._received[self._head_end + 4 :]
        metadata = _metadata(status, self.head)
        if status != 200:
            return _error_of(operation, body, metadata)
        read: Response = orjson.loads(body)
        read["ResponseMetadata"] = metadata
        return read


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


def _error_of(operation: str, body: bytes, metadata: dict[str, Any]) -> ClientError:
    try:
        said = orjson.loads(body)
    except orjson.JSONDecodeError:
        said = {}
    code = str(said.pop("__type", metadata["HTTPStatusCode"])).rpartition("#")[2]
    message = said.pop("message", "") or said.pop("Message", "")
    described: Any = {
        **said,
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": metadata,
    }
    return ClientError(described, operation)
