"""Malicious and damaged files, each with the expected result of its upload."""

import io
import struct
import zlib
from collections.abc import Callable
from typing import NamedTuple

from PIL import Image

from tests.files.conftest import picture

# A location in the EXIF data of a photo.
GPS = {1: "N", 2: (52.0, 31.0, 12.0), 3: "E", 4: (13.0, 24.0, 18.0)}
ACCEPTED = "accepted"


class BadFile(NamedTuple):
    name: str
    content: Callable[[], bytes]
    # ACCEPTED, or the code of the refusal.
    expected: str


def png(width: int, height: int, *, data: bytes | None = None) -> bytes:
    """Makes a PNG whose header claims the given size."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return (
            struct.pack("!L", len(body)) + kind + body + struct.pack("!L", zlib.crc32(kind + body))
        )

    head = struct.pack("!LLBBBBB", width, height, 8, 2, 0, 0, 0)
    body = zlib.compress(data if data is not None else b"\0" * 64)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def long_bomb() -> bytes:
    """A decompression bomb: 48 KB that unpack to 50 MB."""
    return png(11_999, 5_000, data=b"\0" * 50_000_000)


def text_bomb() -> bytes:
    """A compressed comment of 300 MB."""
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


def jpeg_with_location() -> bytes:
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

CORPUS: dict[str, BadFile] = {
    "a bomb by its header": BadFile("a.png", lambda: png(60_000, 60_000), "UPLOAD_TOO_LARGE"),
    "too many megapixels": BadFile("a.png", lambda: png(11_999, 11_999), "UPLOAD_TOO_LARGE"),
    "a bomb within the limit": BadFile("a.png", long_bomb, "UPLOAD_TYPE"),
    "a bomb in a comment": BadFile("a.png", text_bomb, "UPLOAD_TYPE"),
    "a side of nothing": BadFile("a.png", lambda: png(0, 10), "UPLOAD_TYPE"),
    "one side too long": BadFile("a.png", lambda: png(12_001, 1), "UPLOAD_TOO_LARGE"),
    "21 MB": BadFile("a.jpg", lambda: picture() + b"\0" * 21_000_000, "UPLOAD_TOO_LARGE"),
    "0 bytes": BadFile("a.jpg", lambda: b"", "UPLOAD_TYPE"),
    "HTML as a picture": BadFile("a.jpg", lambda: HTML, "UPLOAD_TYPE"),
    "HTML as text": BadFile("a.txt", lambda: HTML, "UPLOAD_TYPE"),
    "HTML after words": BadFile("a.txt", lambda: b"Hello there\n" + HTML, "UPLOAD_TYPE"),
    "HTML in UTF-16": BadFile("a.txt", lambda: HTML.decode().encode("utf-16"), "UPLOAD_TYPE"),
    "SVG": BadFile("a.svg", lambda: SVG, "UPLOAD_TYPE"),
    "SVG as a picture": BadFile("a.png", lambda: SVG, "UPLOAD_TYPE"),
    "SVG behind a declaration": BadFile(
        "a.jpg", lambda: b'<?xml version="1.0"?>' + SVG, "UPLOAD_TYPE"
    ),
    "XML with entities": BadFile(
        "a.txt", lambda: b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c">]>', "UPLOAD_TYPE"
    ),
    "GIF and script in one": BadFile(
        "a.gif", lambda: b"GIF89a=1;alert(1)//" + b" " * 90, "UPLOAD_TYPE"
    ),
    "JPEG with a page behind it": BadFile("a.jpg", lambda: picture() + HTML, ACCEPTED),
    "JPEG with an archive behind it": BadFile("a.jpg", lambda: picture() + zip_bytes(), ACCEPTED),
    "PDF with an archive behind it": BadFile("a.pdf", lambda: pdf(tail=zip_bytes()), "UPLOAD_TYPE"),
    "PDF behind a page": BadFile("a.pdf", lambda: HTML + pdf(), "UPLOAD_TYPE"),
    "PDF with a script": BadFile("a.pdf", lambda: pdf(script=b"/JavaScript 2 0 R"), "UPLOAD_TYPE"),
    "PDF with a hidden script": BadFile(
        "a.pdf", lambda: pdf(script=b"/J#61vaScript 2 0 R"), "UPLOAD_TYPE"
    ),
    "PDF that starts a program": BadFile("a.pdf", lambda: pdf(script=b"/S/Launch"), "UPLOAD_TYPE"),
    "PDF cut off": BadFile("a.pdf", lambda: b"%PDF-1.7\n1 0 obj", "UPLOAD_TYPE"),
    "JPEG cut off": BadFile("a.jpg", lambda: picture()[:900], "UPLOAD_TYPE"),
    "PNG cut off": BadFile("a.png", lambda: picture("PNG")[:200], "UPLOAD_TYPE"),
    "only a signature": BadFile("a.jpg", lambda: b"\xff\xd8\xff", "UPLOAD_TYPE"),
    "HEIC of rubbish": BadFile(
        "a.heic", lambda: b"\0\0\0\x18ftypheic" + b"\x07" * 500, "UPLOAD_TYPE"
    ),
    "WebP of rubbish": BadFile(
        "a.webp", lambda: b"RIFF\x20\0\0\0WEBPVP8 " + b"\x07" * 50, "UPLOAD_TYPE"
    ),
    "PNG called JPEG": BadFile("a.jpg", lambda: picture("PNG"), ACCEPTED),
    "a picture called a program": BadFile("setup.exe", picture, ACCEPTED),
    "a program called a picture": BadFile(
        "a.jpg", lambda: b"MZ\x90\0\x03" + b"\0" * 90, "UPLOAD_TYPE"
    ),
    "a program of Linux": BadFile(
        "a.txt", lambda: b"\x7fELF\x02\x01\x01" + b"\0" * 90, "UPLOAD_TYPE"
    ),
    "an archive": BadFile("a.jpg", zip_bytes, "UPLOAD_TYPE"),
    "film": BadFile("a.jpg", lambda: b"\0\0\0\x20ftypisom" + b"\0" * 90, "UPLOAD_TYPE"),
    "sound": BadFile("a.pdf", lambda: b"ID3\x04" + b"\0" * 90, "UPLOAD_TYPE"),
    "a place in EXIF": BadFile("a.jpg", jpeg_with_location, ACCEPTED),
    "a name with a path": BadFile("../../etc/passwd.jpg", picture, ACCEPTED),
    "a name with a path of Windows": BadFile("..\\..\\boot\\a.jpg", picture, ACCEPTED),
    "a name that turns round": BadFile("invoice\u202egpj.exe", picture, ACCEPTED),
    "a name of 300 characters": BadFile("a" * 300 + ".jpg", picture, ACCEPTED),
    "a name of nothing": BadFile("\u200b\u2066. \x00", picture, ACCEPTED),
    "a name with a line break": BadFile('a"\r\nSet-Cookie: b=c.jpg', picture, ACCEPTED),
}
