"""The tabs that users edit, brief, moodboard and shot list, and the operations on them.

Each editable part stores its author and the tab version of its last change. An edit names the
version it is based on. If the part has changed since, the edit is refused as a conflict that
contains both texts. Edits of different parts do not conflict.
"""

import copy
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from core.refusals import Refusal
from projects.panel.large_tabs import measure_bytes

Snapshot = dict[str, Any]
# Size limit of a tab, because every edit writes the whole tab.
MAX_TAB_BYTES = 100 * 1024
MAX_TEXT_CHARS = 4000
MAX_LINE_CHARS = 200
MAX_LINK_CHARS = 1000
MAX_ITEMS = 60

BRIEF_FIELDS = {
    "title": "Title",
    "goals": "Goals",
    "style": "Style and references",
    "musts": "Must-haves",
    "limits": "Constraints",
    "budget": "Budget notes",
}
TEMPLATES = {
    "portrait": ["Head and shoulders", "Half length", "Full length", "Hands", "At work"],
    "wedding": ["Getting ready", "Ceremony", "Rings", "Family groups", "First dance", "Party"],
    "product": ["Front", "Back", "Detail", "In use", "Group of all", "On white"],
}
TAGS = ("todo", "done")


@dataclass(frozen=True)
class Edit:
    """An edit of a tab. `part` is the name of a brief field or the id of an item."""

    tab: str
    op: str
    version: int
    by: str
    at: str
    part: str = ""
    name: str = ""
    text: str = ""
    place: int = 0
    # The uploaded image of a pin.
    picture: dict[str, Any] | None = None


def make_initial_snapshot(tab: str, *, title: str) -> Snapshot:
    """The content of a tab before its first edit."""
    if tab == "brief":
        return {"fields": {"title": {"text": title[:MAX_LINE_CHARS], "version": 0}}}
    return {"items": []}


def apply(snapshot: Snapshot, edit: Edit, new_version: int) -> Snapshot | None:
    """Returns the tab after the edit, or None if the edit changes nothing."""
    change = OPERATIONS.get((edit.tab, edit.op))
    if change is None:
        raise Refusal("PANEL_INVALID", "This edit isn't supported. Reload the page and try again.")
    after = copy.deepcopy(snapshot)
    change(after, edit, new_version)
    if after == snapshot:
        return None
    if measure_bytes(after) > MAX_TAB_BYTES:
        raise Refusal("PANEL_INVALID", "This tab is full. Shorten something first.")
    return after


def _stamp(part: Snapshot, edit: Edit, version: int) -> None:
    part |= {"version": version, "by": edit.by, "at": edit.at}


def _write(part: Snapshot, name: str, edit: Edit, version: int, max_chars: int) -> None:
    text = edit.text.replace("\r\n", "\n").replace("\x00", "").strip()
    if part.get(name, "") == text:
        return
    if part.get("version", 0) > edit.version:
        raise EditConflict(edit, part.get(name, ""), part)
    if len(text) > max_chars:
        raise Refusal("PANEL_INVALID", f"Use at most {max_chars:,} characters.")
    part[name] = text
    _stamp(part, edit, version)


class EditConflict(Refusal):
    """The part was changed since the version of the edit; carries both texts."""

    def __init__(self, edit: Edit, theirs: str, part: Snapshot) -> None:
        super().__init__("PANEL_VERSION_CONFLICT")
        self.details = {
            "tab": edit.tab,
            "part": edit.part,
            "name": edit.name,
            "mine": edit.text,
            "theirs": theirs,
            "by": part.get("by", ""),
        }


# --- Brief


def _edit_brief(tab: Snapshot, edit: Edit, version: int) -> None:
    if edit.part not in BRIEF_FIELDS:
        raise Refusal("PANEL_INVALID", "This part of the brief doesn't exist.")
    field = tab["fields"].setdefault(edit.part, {"text": "", "version": 0})
    max_chars = MAX_LINE_CHARS if edit.part == "title" else MAX_TEXT_CHARS
    _write(field, "text", edit, version, max_chars)


# --- Items: pins of a moodboard, entries of a shot list


def _find(tab: Snapshot, edit: Edit) -> Snapshot:
    for item in tab["items"]:
        if item["id"] == edit.part:
            return dict_of(item)
    raise Refusal("PANEL_INVALID", "This was removed in the meantime.")


def dict_of(item: Any) -> Snapshot:
    assert isinstance(item, dict)
    return item


def _add(tab: Snapshot, item: Snapshot, edit: Edit, version: int) -> None:
    if any(each["id"] == item["id"] for each in tab["items"]):
        return
    if len(tab["items"]) >= MAX_ITEMS:
        raise Refusal("PANEL_INVALID", f"You can add up to {MAX_ITEMS}. Remove something first.")
    _stamp(item, edit, version)
    tab["items"].append(item)


def _remove(tab: Snapshot, edit: Edit, version: int) -> None:
    tab["items"] = [each for each in tab["items"] if each["id"] != edit.part]


def _move(tab: Snapshot, edit: Edit, version: int) -> None:
    """Moves an item to a position. The last write wins."""
    item = _find(tab, edit)
    others = [each for each in tab["items"] if each is not item]
    tab["items"] = [*others[: edit.place], item, *others[edit.place :]]


def _line(text: str, what: str) -> str:
    text = " ".join(text.split())
    if not text or len(text) > MAX_LINE_CHARS:
        raise Refusal("PANEL_INVALID", f"{what} needs 1 to {MAX_LINE_CHARS} characters.")
    return text


def _add_shot(tab: Snapshot, edit: Edit, version: int) -> None:
    name = _line(edit.text, "A shot")
    item = {"id": edit.part or new_part_id(), "name": name, "notes": "", "owner": "", "done": False}
    _add(tab, item, edit, version)


def _edit_shot(tab: Snapshot, edit: Edit, version: int) -> None:
    item = _find(tab, edit)
    if edit.name == "name":
        _line(edit.text, "A shot")
    if edit.name not in ("name", "notes", "owner", "pin"):
        raise Refusal("PANEL_INVALID", "This part of a shot doesn't exist.")
    _write(item, edit.name, edit, version, MAX_LINE_CHARS if edit.name == "name" else 1000)


def _tick(tab: Snapshot, edit: Edit, version: int) -> None:
    item = _find(tab, edit)
    if edit.text not in TAGS:
        raise Refusal("PANEL_INVALID", "A shot is either done or to do.")
    if item["done"] != (edit.text == "done"):
        item["done"] = edit.text == "done"
        item |= {"doneBy": edit.by, "at": edit.at}


def _add_template(tab: Snapshot, edit: Edit, version: int) -> None:
    """Adds the missing shots of a template, so that repeating it is a no-op."""
    if edit.text not in TEMPLATES:
        raise Refusal("PANEL_INVALID", "This template doesn't exist.")
    there = {each["name"] for each in tab["items"]}
    for name in TEMPLATES[edit.text]:
        if name not in there:
            item = {"id": new_part_id(), "name": name, "notes": "", "owner": "", "done": False}
            _add(tab, item, edit, version)


def _add_pin(tab: Snapshot, edit: Edit, version: int) -> None:
    if edit.picture:
        pin = {"id": edit.part, "picture": edit.picture, "caption": ""}
        return _add(tab, pin, edit, version)
    link = edit.text.strip()
    site = _site_of(link)
    if not site:
        raise Refusal("PANEL_INVALID", "Enter a link that starts with https://.")
    item = {"id": edit.part or new_part_id(), "link": link, "site": site, "caption": ""}
    return _add(tab, item, edit, version)


def _site_of(link: str) -> str:
    """The host of a web link; empty if it is not one."""
    try:
        parts = urlsplit(link) if len(link) <= MAX_LINK_CHARS else None
    except ValueError:
        return ""
    return parts.hostname or "" if parts and parts.scheme in ("http", "https") else ""


def _show_picture(tab: Snapshot, edit: Edit, version: int) -> None:
    """Adds the fetched image of a link. The version of the pin stays, so no edit conflicts."""
    pin = _find(tab, edit)
    if not edit.picture or pin.get("link") != edit.text:
        raise Refusal("PANEL_INVALID", "This image doesn't belong to the pin.")
    pin["picture"] = edit.picture


def _caption(tab: Snapshot, edit: Edit, version: int) -> None:
    _write(_find(tab, edit), "caption", edit, version, MAX_LINE_CHARS)


def new_part_id() -> str:
    return secrets.token_hex(6)


Change = Callable[[Snapshot, Edit, int], None]
OPERATIONS: dict[tuple[str, str], Change] = {
    ("brief", "edit"): _edit_brief,
    ("shotlist", "add"): _add_shot,
    ("shotlist", "edit"): _edit_shot,
    ("shotlist", "tick"): _tick,
    ("shotlist", "template"): _add_template,
    ("shotlist", "move"): _move,
    ("shotlist", "remove"): _remove,
    ("moodboard", "add"): _add_pin,
    ("moodboard", "edit"): _caption,
    ("moodboard", "picture"): _show_picture,
    ("moodboard", "move"): _move,
    ("moodboard", "remove"): _remove,
}
