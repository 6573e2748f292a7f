"""What a file is called: as its sender called it, without what could mislead or harm."""

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
DEFAULT_NAMES = {File.Kind.IMAGE: "Photo", File.Kind.PDF: "Document", File.Kind.TEXT: "Text"}
# How other services name the pictures that one saves from them: their own name, which says nothing.
_OF_A_SERVICE = re.compile(
    r"^(WhatsApp[ _-](Image|Video|Audio|Document)|telegram-cloud-(photo|document)(-size)?|FB_IMG"
    r"|Skype_Picture)(?![^\W_])",
    re.IGNORECASE,
)
# A time in milliseconds, as many programs name what they save: no telephone number has its length.
_A_TIME = re.compile(r"(?<!\d)1\d{12}(?!\d)")
_AN_EXTENSION = re.compile(r"\.[A-Za-z0-9]{1,5}$")


def clean_name(raw: str, kind: str, content_type: str) -> str:
    """The line that it was called, with the ending that what is in it has."""
    name = clean_line(raw)
    known = EXTENSIONS[content_type]
    found = _AN_EXTENSION.search(name)
    stem = name[: found.start()] if found else name
    ending = found[0][1:].lower() if found else ""
    ending = ending if ending in known else known[0]
    stem = stem.strip(". ") or DEFAULT_NAMES[File.Kind(kind)]
    return f"{stem[: MAX_NAME_CHARS - len(ending) - 1].rstrip('. ')}.{ending}"


def meaningful_name(name: str) -> str:
    """What of a name somebody may have meant: without what a phone or a service makes up."""
    stem = _OF_A_SERVICE.sub("", _AN_EXTENSION.sub("", clean_line(name)))
    return _A_TIME.sub("", stem).strip()


def clean_line(raw: str) -> str:
    """No path, and nothing that turns the direction or cannot be seen."""
    last = re.split(r"[/\\]", raw)[-1]
    plain = unicodedata.normalize("NFC", last.encode(errors="ignore").decode())
    seen = "".join(" " if char.isspace() else char for char in plain if _can_be_seen(char))
    return " ".join(seen.split()).strip(". ")


def _can_be_seen(char: str) -> bool:
    return char.isspace() or unicodedata.category(char) not in {"Cc", "Cf", "Co", "Cs", "Cn"}
