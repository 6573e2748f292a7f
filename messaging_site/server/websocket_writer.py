"""Writes text frames to daphne's websockets and disconnects clients that do not read.

Each text is encoded once for all recipients, and the frames of one socket in one turn of the event
loop are one system call: docs/decisions/daphne.md has the measurements.
"""

import asyncio
import time
from collections import defaultdict
from typing import Any

import structlog
from autobahn.websocket.protocol import PreparedMessage

from messaging_site.server.drain import draining
from messaging_site.server.limits import MAX_BLOCKED_SECONDS, MAX_UNREAD_BYTES

log = structlog.get_logger(__name__)


def encode_text_frame(text: str) -> bytes:
    message = PreparedMessage(text.encode(), isBinary=False, applyMask=False, doNotCompress=True)
    return message.payloadHybi


class WebSocketWriter:
    def __init__(self) -> None:
        self._last_text, self._last_frame = "", b""
        # Frames of this turn of the event loop, by socket.
        self._pending: defaultdict[Any, list[bytes]] = defaultdict(list)

    def write(self, socket: Any, text: str) -> None:
        if not self._pending:
            asyncio.get_running_loop().call_soon(self._flush_all)
        self._pending[socket].append(self._encode(text))

    def try_write(self, socket: Any, text: str) -> bool:
        """Writes without waiting; False if the socket is not open or its buffer is full."""
        if socket.state != socket.STATE_OPEN or _unread_bytes(socket) > MAX_UNREAD_BYTES:
            return False
        self.write(socket, text)
        return True

    def flush(self, socket: Any) -> None:
        frames = self._pending.pop(socket, None)
        if not frames or socket.state != socket.STATE_OPEN:
            return
        data, transport = b"".join(frames), socket.transport
        if transport.connected and not transport.disconnecting and not _unread_bytes(socket):
            # Twisted's write() would first wait until the kernel reports the socket as writable.
            written = transport.writeSomeData(data)
            data = data[written:] if isinstance(written, int) else data
        if data:
            transport.write(data)

    async def wait_for_reader(self, socket: Any) -> None:
        """A client that does not read delays only its own socket, and is then disconnected."""
        deadline = time.monotonic() + MAX_BLOCKED_SECONDS
        while _unread_bytes(socket) > MAX_UNREAD_BYTES:
            if draining.is_set() or time.monotonic() > deadline:
                log.info("slow_reader_dropped")
                socket.dropConnection(abort=True)
                return
            await asyncio.sleep(0.05)

    def _encode(self, text: str) -> bytes:
        """A broadcast passes the same object for every recipient, one after the other."""
        if text is not self._last_text:
            self._last_text, self._last_frame = text, encode_text_frame(text)
        return self._last_frame

    def _flush_all(self) -> None:
        for socket in list(self._pending):
            try:
                self.flush(socket)
            except Exception:
                # Must not raise: other sockets are waiting.
                log.exception("socket_write_failed")
                socket.dropConnection(abort=True)


def _unread_bytes(socket: Any) -> int:
    """What Twisted buffers because the kernel's send buffer is full. It has no public counter."""
    transport = socket.transport
    return len(transport.dataBuffer) - transport.offset + transport._tempDataLen
