"""Frames as they go over the wire; the same for every server that we run on."""

# Both ways: what we send has at most this. Of what comes, the consumer refuses more than 64 KiB,
# with an error that people can read.
MAX_FRAME = 256 * 1024
# Many sockets come back at the same moment when a server was away.
BACKLOG = 1024
# What may wait for a client that does not read, and for how many seconds; and what of it the kernel
# takes, which would be megabytes.
MAX_UNREAD_BYTES, MAX_BLOCKED_SECONDS = 1024 * 1024, 10.0
KERNEL_TAKES = 256 * 1024
# How often a quiet socket is asked whether it is there, and how long it may take to say so.
PING_SECONDS, PING_TIMEOUT_SECONDS = 20, 30


class Framer:
    """What all hear comes as the same text, one after the other: it is made into a frame once."""

    def __init__(self) -> None:
        self._text, self._frame = "", b""

    def frame(self, text: str) -> bytes:
        if text is not self._text:
            self._text, self._frame = text, frame_of(text)
        return self._frame


def frame_of(text: str) -> bytes:
    """A whole text message as RFC 6455 frames it, from a server."""
    payload = text.encode()
    size = len(payload)
    if size < 126:
        return bytes((0x81, size)) + payload
    if size < 65536:
        return b"\x81\x7e" + size.to_bytes(2, "big") + payload
    return b"\x81\x7f" + size.to_bytes(8, "big") + payload
