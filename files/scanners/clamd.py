"""ClamAV's daemon, over its socket: https://docs.clamav.net/manual/Usage/Scanning.html#clamd"""

import socket
import struct
from urllib.parse import urlsplit

import structlog

from core.refusals import Refusal
from files.scanners.sample import Sample

log = structlog.get_logger(__name__)
CHUNK_BYTES = 64 * 1024
TIMEOUT_SECONDS = 30.0


class ClamdScanner:
    def __init__(self, address: str) -> None:
        """`unix:///run/clamav/clamd.ctl` or `tcp://host:3310`."""
        self.address = urlsplit(address)

    def scan(self, sample: Sample) -> None:
        try:
            reply = self._stream(sample)
        except OSError as error:
            log.error("clamd_unavailable", why=str(error))
            raise Refusal("UPLOAD_QUARANTINED") from error
        if reply.endswith("FOUND"):
            log.warning("upload_infected", found=reply)
            raise Refusal(
                "UPLOAD_QUARANTINED",
                "This file contains malware and wasn't uploaded.",
                hint="Scan your device for viruses, or choose another file.",
            )
        if reply != "stream: OK":
            log.error("clamd_scan_failed", reply=reply)
            raise Refusal("UPLOAD_QUARANTINED")

    def _stream(self, sample: Sample) -> str:
        with self._connect() as connection, sample.path.open("rb") as content:
            connection.sendall(b"zINSTREAM\0")
            while chunk := content.read(CHUNK_BYTES):
                connection.sendall(struct.pack("!L", len(chunk)) + chunk)
            connection.sendall(struct.pack("!L", 0))
            received = b""
            while not received.endswith(b"\0"):
                part = connection.recv(4096)
                if not part:
                    raise ConnectionError("clamd closed the connection")
                received += part
        return received.rstrip(b"\0").decode(errors="replace")

    def _connect(self) -> socket.socket:
        if self.address.scheme == "unix":
            connection = socket.socket(socket.AF_UNIX)
            connection.settimeout(TIMEOUT_SECONDS)
            connection.connect(self.address.path)
            return connection
        return socket.create_connection(
            (self.address.hostname, self.address.port or 3310), timeout=TIMEOUT_SECONDS
        )
