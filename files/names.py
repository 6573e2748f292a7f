"""Cleans file names: removes paths, invisible characters and wrong extensions."""

import re
import unicodedata

from files.models import File

MAX_NAME_CHARS = 120
EXTENSIONS = {
    "image/jpeg": ("jpg", "jpeg"),
    "image/webp": ("webp",),
    "application/pdf": ("pdf",),
    "text/plain": ("txt", "csv", "md", "log"),
}
DEFAULT_NAMES = {
    File.Kind.IMAGE: "Photo",
    File.Kind.PHOTO: "Photo",
    File.Kind.PDF: "Document",
    File.Kind.TEXT: "Text",
}
# Prefixes of names that other services give to saved files.
_SERVICE_PREFIX = re.compile(
    r"^(WhatsApp[ _-](Image|Video|Audio|Document)|telegram-cloud-(photo|document)(-size)?|FB_IMG"
    r"|Skype_Picture)(?![^\W_])",
    re.IGNORECASE,
)
# A Unix time in milliseconds, which many programs use in names. No phone number has that length.
_TIMESTAMP = re.compile(r"(?<!\d)1\d{12}(?!\d)")
_EXTENSION = re.compile(r"\.[A-Za-z0-9]{1,5}$")


def clean_name(raw: str, kind: str, content_type: str) -> str:
    """The cleaned name with an extension that matches the content."""
    name = clean_line(raw)
    known = EXTENSIONS[content_type]
    found = _EXTENSION.search(name)
    stem = name[: found.start()] if found else name
    extension = found[0][1:].lower() if found else ""
    extension = extension if extension in known else known[0]
    stem = stem.strip(". ") or DEFAULT_NAMES[File.Kind(kind)]
    return f"{stem[: MAX_NAME_CHARS - len(extension) - 1].rstrip('. ')}.{extension}"


def meaningful_name(name: str) -> str:
    """The part of a name that a user may have written, without what devices and services add."""
    stem = _SERVICE_PREFIX.sub("", _EXTENSION.sub("", clean_line(name)))
    return _TIMESTAMP.sub("", stem).strip()


def clean_line(raw: str) -> str:
    """Removes the path, invisible characters and those that change the text direction."""
    last = re.split(r"[/\\]", raw)[-1]
    plain = unicodedata.normalize("NFC", last.encode(errors="ignore").decode())
    seen = "".join(" " if char.isspace() else char for char in plain if _is_visible(char))
    return " ".join(seen.split()).strip(". ")


def _is_visible(char: str) -> bool:
    return char.isspace() or unicodedata.category(char) not in {"Cc", "Cf", "Co", "Cs", "Cn"}
