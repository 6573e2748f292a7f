"""The whole body of a request is taken before anybody looks at it; here is where that ends."""

from daphne.http_protocol import WebRequest

# Some files at once, by a form without a script.
MAX_BODY_BYTES = 100 * 1024 * 1024
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
