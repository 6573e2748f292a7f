"""What a file is, by what is in it; its name is only what somebody called it."""

import codecs
import re
from typing import BinaryIO, NamedTuple

from core.refusals import Refusal
from files.models import File

HEAD = 64
CHUNK = 1 << 20
TAIL = 66_000


class FileType(NamedTuple):
    kind: str
    # For images what the decoder calls it: no other decoder gets to see it.
    format: str
    content_type: str


IMAGE = File.Kind.IMAGE
JPEG = FileType(IMAGE, "JPEG", "image/jpeg")
PNG = FileType(IMAGE, "PNG", "image/png")
GIF = FileType(IMAGE, "GIF", "image/gif")
WEBP = FileType(IMAGE, "WEBP", "image/webp")
HEIC = FileType(IMAGE, "HEIF", "image/heic")
AVIF = FileType(IMAGE, "AVIF", "image/avif")
PDF = FileType(File.Kind.PDF, "PDF", "application/pdf")
TEXT = FileType(File.Kind.TEXT, "TEXT", "text/plain")

_HEIC_BRANDS = {b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"}
_MARKUP = re.compile(rb"<(!doctype|!--|\?xml|html|head|body|script|svg|iframe|img|style)", re.I)
# What a PDF may not do when it is opened; names can be spelled with escapes.
_RUNS = re.compile(rb"/(JavaScript|JS|Launch)\b")
_ESCAPED = re.compile(rb"#([0-9a-fA-F]{2})")


def detect_file_type(content: BinaryIO) -> FileType:
    """Raises UPLOAD_TYPE for what we do not take, in words that say what to do instead."""
    content.seek(0)
    head = content.read(HEAD)
    kind = _by_signature(head)
    if kind == PDF:
        _check_pdf(content)
    if kind is None:
        _refuse_known(head)
        _check_text(content)
    return kind or TEXT


def _by_signature(head: bytes) -> FileType | None:
    if head.startswith(b"\xff\xd8\xff"):
        return JPEG
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return PNG
    if head.startswith((b"GIF87a", b"GIF89a")):
        return GIF
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return WEBP
    if head[4:8] == b"ftyp" and head[8:12] in (b"avif", b"avis"):
        return AVIF
    if head[4:8] == b"ftyp" and head[8:12] in _HEIC_BRANDS:
        return HEIC
    return PDF if head.startswith(b"%PDF-") else None


def _refuse_known(head: bytes) -> None:
    sound = head.startswith((b"ID3", b"OggS", b"fLaC", b"\xff\xfb", b"\xff\xf1"))
    film = head[4:8] == b"ftyp" or head.startswith(b"\x1aE\xdf\xa3") or head[:4] == b"RIFF"
    if sound or film:
        raise Refusal(
            "UPLOAD_TYPE",
            "Sound and film are not taken as files.",
            hint="Send a link to it, with a title.",
        )
    if head.startswith((b"PK\x03\x04", b"Rar!", b"7z\xbc\xaf", b"\x1f\x8b")):
        raise Refusal(
            "UPLOAD_TYPE",
            "Archives and office files are not taken.",
            hint="Send it as a PDF, or each file by itself.",
        )


def _check_pdf(content: BinaryIO) -> None:
    content.seek(0)
    whole = content.read()
    tail = whole[-TAIL:]
    if b"%%EOF" not in tail[-1024:] or b"PK\x05\x06" in tail:
        raise Refusal("UPLOAD_TYPE", "This PDF is damaged.", hint="Export it again and try that.")
    plain = _ESCAPED.sub(lambda found: bytes([int(found[1], 16)]), whole)
    if _RUNS.search(plain):
        raise Refusal(
            "UPLOAD_TYPE",
            "This PDF would run something when it is opened.",
            hint="Print it to a new PDF and send that.",
        )


def _check_text(content: BinaryIO) -> None:
    """Words and line breaks, and nothing that a browser could take for a page."""
    content.seek(0)
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    is_first = True
    try:
        while chunk := content.read(CHUNK):
            text = decoder.decode(chunk)
            if any(char < " " and char not in "\t\n\r\f" for char in text):
                raise Refusal("UPLOAD_TYPE")
            if is_first and _MARKUP.search(chunk):
                raise Refusal("UPLOAD_TYPE", "Web pages and vector drawings are not taken.")
            is_first = False
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise Refusal("UPLOAD_TYPE") from error
