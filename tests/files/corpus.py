"""Files that somebody means badly, or that came badly: each with how it has to end."""

import io
import struct
import zlib
from collections.abc import Callable
from typing import NamedTuple

from PIL import Image

from tests.files.conftest import picture

# A place in the EXIF of a photo: somebody's home, perhaps.
GPS = {1: "N", 2: (52.0, 31.0, 12.0), 3: "E", 4: (13.0, 24.0, 18.0)}
TAKEN = "taken"


class Bad(NamedTuple):
    name: str
    content: Callable[[], bytes]
    # "taken", or the code with which it is refused.
    ends: str


def png(width: int, height: int, *, data: bytes | None = None) -> bytes:
    """A PNG that says it is so large, whatever it holds."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return (
            struct.pack("!L", len(body)) + kind + body + struct.pack("!L", zlib.crc32(kind + body))
        )

    head = struct.pack("!LLBBBBB", width, height, 8, 2, 0, 0, 0)
    body = zlib.compress(data if data is not None else b"\0" * 64)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def long_bomb() -> bytes:
    """48 KB that would unpack to 50 MB a row, and rows without end."""
    return png(11_999, 5_000, data=b"\0" * 50_000_000)


def text_bomb() -> bytes:
    """A comment of a gigabyte, packed."""
    packed = zlib.compress(b"A" * 300_000_000, 9)
    body = b"Comment\0\0" + packed
    extra = (
        struct.pack("!L", len(body))
        + b"zTXt"
        + body
        + struct.pack("!L", zlib.crc32(b"zTXt" + body))
    )
    whole = picture("PNG", (32, 32))
    return whole[:33] + extra + whole[33:]


def with_place() -> bytes:
    out = io.BytesIO()
    exif = Image.Exif()
    exif[0x010F] = "A camera with a serial number"
    exif.get_ifd(0x8825).update(GPS)
    Image.new("RGB", (64, 48), "teal").save(out, "JPEG", exif=exif, comment=b"Call 0170 1234567")
    return out.getvalue()


def pdf(*, script: bytes = b"", tail: bytes = b"") -> bytes:
    return b"%PDF-1.7\n1 0 obj\n<</Type/Catalog" + script + b">>\nendobj\n%%EOF\n" + tail


def zip_bytes() -> bytes:
    import zipfile

    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("run.exe", "MZ")
    return out.getvalue()


HTML = b"<!doctype html><script>alert(document.cookie)</script>"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'

CORPUS: dict[str, Bad] = {
    "a bomb by its header": Bad("a.png", lambda: png(60_000, 60_000), "UPLOAD_TOO_LARGE"),
    "too many megapixels": Bad("a.png", lambda: png(11_999, 11_999), "UPLOAD_TOO_LARGE"),
    "a bomb within the limit": Bad("a.png", long_bomb, "UPLOAD_TYPE"),
    "a bomb in a comment": Bad("a.png", text_bomb, "UPLOAD_TYPE"),
    "a side of nothing": Bad("a.png", lambda: png(0, 10), "UPLOAD_TYPE"),
    "one side too long": Bad("a.png", lambda: png(12_001, 1), "UPLOAD_TOO_LARGE"),
    "21 MB": Bad("a.jpg", lambda: picture() + b"\0" * 21_000_000, "UPLOAD_TOO_LARGE"),
    "0 bytes": Bad("a.jpg", lambda: b"", "UPLOAD_TYPE"),
    "HTML as a picture": Bad("a.jpg", lambda: HTML, "UPLOAD_TYPE"),
    "HTML as text": Bad("a.txt", lambda: HTML, "UPLOAD_TYPE"),
    "HTML after words": Bad("a.txt", lambda: b"Hello there\n" + HTML, "UPLOAD_TYPE"),
    "HTML in UTF-16": Bad("a.txt", lambda: HTML.decode().encode("utf-16"), "UPLOAD_TYPE"),
    "SVG": Bad("a.svg", lambda: SVG, "UPLOAD_TYPE"),
    "SVG as a picture": Bad("a.png", lambda: SVG, "UPLOAD_TYPE"),
    "SVG behind a declaration": Bad("a.jpg", lambda: b'<?xml version="1.0"?>' + SVG, "UPLOAD_TYPE"),
    "XML with entities": Bad(
        "a.txt", lambda: b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c">]>', "UPLOAD_TYPE"
    ),
    "GIF and script in one": Bad(
        "a.gif", lambda: b"GIF89a=1;alert(1)//" + b" " * 90, "UPLOAD_TYPE"
    ),
    "JPEG with a page behind it": Bad("a.jpg", lambda: picture() + HTML, TAKEN),
    "JPEG with an archive behind it": Bad("a.jpg", lambda: picture() + zip_bytes(), TAKEN),
    "PDF with an archive behind it": Bad("a.pdf", lambda: pdf(tail=zip_bytes()), "UPLOAD_TYPE"),
    "PDF behind a page": Bad("a.pdf", lambda: HTML + pdf(), "UPLOAD_TYPE"),
    "PDF with a script": Bad("a.pdf", lambda: pdf(script=b"/JavaScript 2 0 R"), "UPLOAD_TYPE"),
    "PDF with a hidden script": Bad(
        "a.pdf", lambda: pdf(script=b"/J#61vaScript 2 0 R"), "UPLOAD_TYPE"
    ),
    "PDF that starts a program": Bad("a.pdf", lambda: pdf(script=b"/S/Launch"), "UPLOAD_TYPE"),
    "PDF cut off": Bad("a.pdf", lambda: b"%PDF-1.7\n1 0 obj", "UPLOAD_TYPE"),
    "JPEG cut off": Bad("a.jpg", lambda: picture()[:900], "UPLOAD_TYPE"),
    "PNG cut off": Bad("a.png", lambda: picture("PNG")[:200], "UPLOAD_TYPE"),
    "only a signature": Bad("a.jpg", lambda: b"\xff\xd8\xff", "UPLOAD_TYPE"),
    "HEIC of rubbish": Bad("a.heic", lambda: b"\0\0\0\x18ftypheic" + b"\x07" * 500, "UPLOAD_TYPE"),
    "WebP of rubbish": Bad(
        "a.webp", lambda: b"RIFF\x20\0\0\0WEBPVP8 " + b"\x07" * 50, "UPLOAD_TYPE"
    ),
    "PNG called JPEG": Bad("a.jpg", lambda: picture("PNG"), TAKEN),
    "a picture called a program": Bad("setup.exe", picture, TAKEN),
    "a program called a picture": Bad("a.jpg", lambda: b"MZ\x90\0\x03" + b"\0" * 90, "UPLOAD_TYPE"),
    "a program of Linux": Bad("a.txt", lambda: b"\x7fELF\x02\x01\x01" + b"\0" * 90, "UPLOAD_TYPE"),
    "an archive": Bad("a.jpg", zip_bytes, "UPLOAD_TYPE"),
    "film": Bad("a.jpg", lambda: b"\0\0\0\x20ftypisom" + b"\0" * 90, "UPLOAD_TYPE"),
    "sound": Bad("a.pdf", lambda: b"ID3\x04" + b"\0" * 90, "UPLOAD_TYPE"),
    "a place in EXIF": Bad("a.jpg", with_place, TAKEN),
    "a name with a path": Bad("../../etc/passwd.jpg", picture, TAKEN),
    "a name with a path of Windows": Bad("..\\..\\boot\\a.jpg", picture, TAKEN),
    "a name that turns round": Bad("invoice\u202egpj.exe", picture, TAKEN),
    "a name of 300 characters": Bad("a" * 300 + ".jpg", picture, TAKEN),
    "a name of nothing": Bad("\u200b\u2066. \x00", picture, TAKEN),
    "a name with a line break": Bad('a"\r\nSet-Cookie: b=c.jpg', picture, TAKEN),
}
