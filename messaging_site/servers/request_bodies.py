"""The whole body of a request is taken before anybody looks at it; here is where that ends."""

from collections.abc import MutableMapping
from typing import Any

from daphne.http_protocol import WebRequest

from messaging_site.servers.drain import Application, Message, Receive, Send

# Some files at once, by a form without a script.
MAX_BODY_BYTES = 100 * 1024 * 1024
MAX_LENGTH_DIGITS = 20
ANSWER = b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class BoundedRequest(WebRequest):
    taken = 0

    def gotLength(self, length: int | None) -> None:
        super().gotLength(0 if self._is_too_much(length or 0) else length)

    def handleContentChunk(self, data: bytes) -> None:
        self.taken += len(data)
        if not self._is_too_much(self.taken):
            super().handleContentChunk(data)

    def _is_too_much(self, size: int) -> bool:
        if size <= MAX_BODY_BYTES:
            return False
        if not self.channel.transport.disconnecting:
            self.channel.transport.write(ANSWER)
            self.channel.transport.loseConnection()
        return True


def limit_bodies() -> None:
    import daphne.http_protocol

    daphne.http_protocol.WebRequest = BoundedRequest


# --- For servers that leave it to the application


class TooLong(Exception):
    """More came than anybody has to send."""


def bounded(application: Application) -> Application:
    async def run(scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        taken = 0

        async def receive_some() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > MAX_BODY_BYTES:
                raise TooLong
            return message

        try:
            if _said_length(scope) > MAX_BODY_BYTES:
                raise TooLong
            await application(scope, receive_some, send)
        except TooLong:
            headers = [(b"content-length", b"0"), (b"connection", b"close")]
            await send({"type": "http.response.start", "status": 413, "headers": headers})
            await send({"type": "http.response.body", "body": b""})

    async def pick(scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        await (run if scope["type"] == "http" else application)(scope, receive, send)

    return pick


def _said_length(scope: MutableMapping[str, Any]) -> int:
    said = dict(scope["headers"]).get(b"content-length", b"0")
    # Enough to see that it is too long; int() refuses thousands of digits.
    return int(said[:MAX_LENGTH_DIGITS]) if said.isdigit() else 0
