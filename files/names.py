"""What a file is called: as its sender called it, without what could mislead or harm."""

import re
import unicodedata

from files.models import File

LONGEST = 120
EXTENSIONS = {
    "image/jpeg": ("jpg", "jpeg"),
    "image/webp": ("webp",),
    "application/pdf": ("pdf",),
    "text/plain": ("txt", "csv", "md", "log"),
}
NAMELESS = {File.Kind.IMAGE: "Photo", File.Kind.PDF: "Document", File.Kind.TEXT: "Text"}
_AN_EXTENSION = re.compile(r"\.[A-Za-z0-9]{1,5}$")


def clean_name(raw: str, kind: str, content_type: str) -> str:
    """The line that it was called, with the ending that what is in it has."""
    name = clean_line(raw)
    known = EXTENSIONS[content_type]
    found = _AN_EXTENSION.search(name)
    stem = name[: found.start()] if found else name
    ending = found[0][1:].lower() if found else ""
    ending = ending if ending in known else known[0]
    stem = stem.strip(". ") or NAMELESS[File.Kind(kind)]
    return f"{stem[: LONGEST - len(ending) - 1].rstrip('. ')}.{ending}"


def clean_line(raw: str) -> str:
    """No path, and nothing that turns the direction or cannot be seen."""
    last = re.split(r"[/\\]", raw)[-1]
    plain = unicodedata.normalize("NFC", last.encode(errors="ignore").decode())
    seen = "".join(" " if char.isspace() else char for char in plain if _can_be_seen(char))
    return " ".join(seen.split()).strip(". ")


def _can_be_seen(char: str) -> bool:
    return char.isspace() or unicodedata.category(char) not in {"Cc", "Cf", "Co", "Cs", "Cn"}
