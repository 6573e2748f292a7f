"""ClamAV's daemon, over its socket: https://docs.clamav.net/manual/Usage/Scanning.html#clamd"""

import socket
import struct
from urllib.parse import urlsplit

import structlog

from core.refusals import Refusal
from files.scanners.sample import Sample

log = structlog.get_logger(__name__)
CHUNK = 64 * 1024
SECONDS = 30.0


class ClamdScanner:
    def __init__(self, address: str) -> None:
        """`unix:///run/clamav/clamd.ctl` or `tcp://host:3310`."""
        self.address = urlsplit(address)

    def scan(self, sample: Sample) -> None:
        try:
            answer = self._stream(sample)
        except OSError as error:
            log.error("clamd_away", why=str(error))
            raise Refusal("UPLOAD_QUARANTINED") from error
        if answer.endswith("FOUND"):
            log.warning("upload_infected", found=answer)
            raise Refusal(
                "UPLOAD_QUARANTINED",
                "This file carries something harmful and was not taken.",
                hint="Check your device, and send another file.",
            )
        if answer != "stream: OK":
            log.error("clamd_cannot_tell", answer=answer)
            raise Refusal("UPLOAD_QUARANTINED")

    def _stream(self, sample: Sample) -> str:
        with self._connect() as link, sample.path.open("rb") as content:
            link.sendall(b"zINSTREAM\0")
            while chunk := content.read(CHUNK):
                link.sendall(struct.pack("!L", len(chunk)) + chunk)
            link.sendall(struct.pack("!L", 0))
            said = b""
            while not said.endswith(b"\0"):
                some = link.recv(4096)
                if not some:
                    raise ConnectionError("clamd said nothing")
                said += some
        return said.rstrip(b"\0").decode(errors="replace")

    def _connect(self) -> socket.socket:
        if self.address.scheme == "unix":
            link = socket.socket(socket.AF_UNIX)
            link.settimeout(SECONDS)
            link.connect(self.address.path)
            return link
        return socket.create_connection(
            (self.address.hostname, self.address.port or 3310), timeout=SECONDS
        )
