"""Detects the type of a file by its content. File names are not trusted."""

import codecs
import re
from typing import BinaryIO, NamedTuple

from core.refusals import Refusal
from files.models import File

HEAD_BYTES = 64
CHUNK_BYTES = 1 << 20
TAIL_BYTES = 66_000


class FileType(NamedTuple):
    kind: str
    # For images, the name of the only decoder that may open the file.
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
# PDF actions that run something on opening. Their names can contain escapes.
_ACTIVE_CONTENT = re.compile(rb"/(JavaScript|JS|Launch)\b")
_ESCAPED = re.compile(rb"#([0-9a-fA-F]{2})")


def detect_file_type(content: BinaryIO) -> FileType:
    """Raises UPLOAD_TYPE for unsupported files, with a hint what to do instead."""
    content.seek(0)
    head = content.read(HEAD_BYTES)
    kind = _by_signature(head)
    if kind == PDF:
        _check_pdf(content)
    if kind is None:
        _refuse_unsupported(head)
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


def _refuse_unsupported(head: bytes) -> None:
    is_audio = head.startswith((b"ID3", b"OggS", b"fLaC", b"\xff\xfb", b"\xff\xf1"))
    is_video = head[4:8] == b"ftyp" or head.startswith(b"\x1aE\xdf\xa3") or head[:4] == b"RIFF"
    if is_audio or is_video:
        raise Refusal(
            "UPLOAD_TYPE",
            "You can't attach audio or video files.",
            hint="Send a link with a title instead.",
        )
    if head.startswith((b"PK\x03\x04", b"Rar!", b"7z\xbc\xaf", b"\x1f\x8b")):
        raise Refusal(
            "UPLOAD_TYPE",
            "You can't attach archives or Office files.",
            hint="Send a PDF, or each file separately.",
        )


def _check_pdf(content: BinaryIO) -> None:
    content.seek(0)
    whole = content.read()
    tail = whole[-TAIL_BYTES:]
    if b"%%EOF" not in tail[-1024:] or b"PK\x05\x06" in tail:
        raise Refusal(
            "UPLOAD_TYPE", "This PDF is damaged.", hint="Export it again, then try once more."
        )
    plain = _ESCAPED.sub(lambda found: bytes([int(found[1], 16)]), whole)
    if _ACTIVE_CONTENT.search(plain):
        raise Refusal(
            "UPLOAD_TYPE",
            "This PDF contains scripts.",
            hint="Print it to a new PDF and attach that.",
        )


def _check_text(content: BinaryIO) -> None:
    """Allows text only, and nothing that a browser could take for HTML."""
    content.seek(0)
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    is_first = True
    try:
        while chunk := content.read(CHUNK_BYTES):
            text = decoder.decode(chunk)
            if any(char < " " and char not in "\t\n\r\f" for char in text):
                raise Refusal("UPLOAD_TYPE")
            if is_first and _MARKUP.search(chunk):
                raise Refusal("UPLOAD_TYPE", "You can't attach web pages or SVG images.")
            is_first = False
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise Refusal("UPLOAD_TYPE") from error
