"""What is attached to a message: as it is stored, and as people see it."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.template.defaultfilters import filesizeformat
from django.urls import reverse

from files.models import File
from threads.dynamodb.unknown_kinds import record_unknown
from threads.models.message import PREVIEW_LENGTH, PREVIEW_SOURCE_LENGTH
from threads.rendering.markdown import to_text

LINK = "link"
# The room that one picture has, and each of several.
ALONE, AMONG = (360, 320), (176, 176)
_NAMES = {
    File.Kind.IMAGE: ("Photo", "photos"),
    File.Kind.PDF: ("Document", "documents"),
    File.Kind.TEXT: ("File", "files"),
    LINK: ("Link", "links"),
}


def describe(file: File) -> dict[str, Any]:
    """As the message keeps it: enough to show it, so that opening a thread asks nobody else."""
    described: dict[str, Any] = {
        "kind": file.kind,
        "id": file.id,
        "name": file.name,
        "type": file.content_type,
        "size": file.size,
    }
    if file.kind == File.Kind.IMAGE:
        described |= {"width": file.width, "height": file.height, "band": file.band}
    return described


def describe_in_tab(file: File) -> dict[str, Any]:
    return as_in_tab(describe(file))


def as_in_tab(described: dict[str, Any]) -> dict[str, Any]:
    """As a tab keeps it: less, since every opening of the thread reads all the tabs."""
    return {name: value for name, value in described.items() if name != "type"}


def label_of(attachments: list[dict[str, Any]] | None) -> str:
    """Photo, 3 photos, 2 files; not what they are called."""
    kinds = [one["kind"] for one in attachments or []]
    if not kinds:
        return ""
    kind = kinds[0] if len(set(kinds)) == 1 else File.Kind.TEXT
    one, many = _NAMES.get(kind, _NAMES[File.Kind.TEXT])
    return one if len(kinds) == 1 else f"{len(kinds)} {many}"


def preview_of(body: str, attachments: list[dict[str, Any]] | None) -> str:
    """What an inbox and a quote show."""
    parts = [label_of(attachments), to_text(body[:PREVIEW_SOURCE_LENGTH])]
    return " · ".join(part for part in parts if part)[:PREVIEW_LENGTH]


@dataclass
class AttachmentView:
    kind: str
    name: str
    detail: str
    url: str
    thumb_url: str = ""
    shown_url: str = ""
    download_url: str = ""
    width: int = 0
    height: int = 0
    band: int = 0


def view_in_tab(one: dict[str, Any]) -> AttachmentView:
    return _view(one, AMONG)


def attachment_views(attachments: list[dict[str, Any]] | None) -> list[AttachmentView]:
    found = [one for one in attachments or [] if is_supported(one)]
    pictures = [one for one in found if one["kind"] == File.Kind.IMAGE]
    room = ALONE if len(pictures) == 1 else AMONG
    return [_view(one, room) for one in found]


def is_supported(one: dict[str, Any]) -> bool:
    """Others are of a kind that only a newer version can show."""
    if one["kind"] in _NAMES:
        return True
    record_unknown(f"attachment {one['kind']}")
    return False


def _view(one: dict[str, Any], room: tuple[int, int]) -> AttachmentView:
    if one["kind"] == LINK:
        host = (urlsplit(one["url"]).hostname or "").removeprefix("www.")
        return AttachmentView(LINK, one["title"], host, one["url"])
    url = reverse("threads:file", args=[one["id"]])
    view = AttachmentView(one["kind"], one["name"], filesizeformat(one["size"]), url)
    view.download_url = f"{url}?download=1"
    if one["kind"] == File.Kind.IMAGE:
        view.width, view.height = _fitted(one["width"], one["height"], room)
        view.band = one["band"]
        view.thumb_url = f"{url}?size=thumb"
        if view.band:
            # Asked for: what safe mode blurs until then.
            view.shown_url = f"{url}?show=1"
            view.download_url += "&show=1"
    return view


def _fitted(width: int, height: int, room: tuple[int, int]) -> tuple[int, int]:
    """The size on the page, known before the picture is there; never too thin to be hit."""
    scale = min(room[0] / width, room[1] / height, 1)
    return max(44, round(width * scale)), max(44, round(height * scale))
