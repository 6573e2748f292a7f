"""A WebSocket client and an HTTP client with minimal overhead, so that the clients do not distort
the measurement."""

import asyncio
import base64
import os
from collections.abc import Callable

PayloadHandler = Callable[[bytes], None]


class Socket(asyncio.Protocol):
    """Sends and receives text frames; a mask of zeros is valid and leaves the bytes unchanged."""

    def __init__(self, on_payload: PayloadHandler) -> None:
        self.on_payload = on_payload
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.is_closed = False
        self._buffer = bytearray()
        self._is_open = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: asyncio.WriteTransport = transport  # type: ignore[assignment]

    def connection_lost(self, error: Exception | None) -> None:
        self.is_closed = True
        if not self.opened.done():
            self.opened.set_exception(ConnectionError("The handshake was refused."))

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._is_open:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            if not self._buffer.startswith(b"HTTP/1.1 101"):
                self.transport.close()
                return
            del self._buffer[: end + 4]
            self._is_open = True
            self.opened.set_result(None)
        self._read_frames()

    def _read_frames(self) -> None:
        buffer, at = self._buffer, 0
        while len(buffer) - at >= 2:
            size, start = buffer[at + 1] & 127, at + 2
            if size == 126:
                size, start = int.from_bytes(buffer[at + 2 : at + 4], "big"), at + 4
            elif size == 127:
                size, start = int.from_bytes(buffer[at + 2 : at + 10], "big"), at + 10
            if len(buffer) < start + size:
                break
            self._handle_frame(buffer[at] & 15, bytes(buffer[start : start + size]))
            at = start + size
        del buffer[:at]

    def _handle_frame(self, kind: int, payload: bytes) -> None:
        if kind == 1:
            self.on_payload(payload)
        elif kind == 9:
            self.transport.write(frame(payload, kind=10))
        elif kind == 8:
            self.transport.close()

    def send_text(self, payload: bytes) -> None:
        self.transport.write(frame(payload))

    def send_ping(self) -> None:
        self.transport.write(frame(b"", kind=9))


def frame(payload: bytes, kind: int = 1) -> bytes:
    size = len(payload)
    if size < 126:
        head = bytes((128 | kind, 128 | size))
    elif size < 65536:
        head = bytes((128 | kind, 254)) + size.to_bytes(2, "big")
    else:
        head = bytes((128 | kind, 255)) + size.to_bytes(8, "big")
    return head + b"\0\0\0\0" + payload


async def connect(
    port: int, cookie: str, on_payload: PayloadHandler, *, path: str = "/ws/"
) -> Socket:
    loop = asyncio.get_running_loop()
    _, socket = await loop.create_connection(lambda: Socket(on_payload), "127.0.0.1", port)
    key = base64.b64encode(os.urandom(16)).decode()
    socket.transport.write(
        f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\n"
        f"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
        f"Sec-WebSocket-Version: 13\r\nCookie: sessionid={cookie}\r\n\r\n".encode()
    )
    await asyncio.wait_for(socket.opened, 60)
    return socket


class HttpConnection:
    """A persistent connection with one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def send(self, request: bytes) -> tuple[int, bytes]:
        self.writer.write(request)
        head = await self.reader.readuntil(b"\r\n\r\n")
        status = int(head[9:12])
        lowered = head.lower()
        if b"transfer-encoding: chunked" in lowered:
            return status, await self._chunks()
        at = lowered.find(b"content-length:")
        size = int(lowered[at + 15 : lowered.find(b"\r\n", at)]) if at >= 0 else 0
        return status, await self.reader.readexactly(size)

    async def _chunks(self) -> bytes:
        parts = []
        while size := int((await self.reader.readline()).strip(), 16):
            parts.append(await self.reader.readexactly(size))
            await self.reader.readline()
        await self.reader.readline()
        return b"".join(parts)


async def open_http(port: int) -> HttpConnection:
    return HttpConnection(*await asyncio.open_connection("127.0.0.1", port, limit=2**24))
