"""Tabs that people write themselves: brief, moodboard, shot list. What an edit makes of each.

A part that can be edited carries the tab's version at which it was changed last, and by whom. An
edit names the version it was made on: if the same part is newer than that, somebody was faster,
and both texts go back to the editor. Edits of different parts do not disturb each other.
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
# What a tab may weigh in all, since every edit writes all of it.
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
    """What somebody asks of a tab. `part` is the field of a brief, or the id of an item."""

    tab: str
    op: str
    version: int
    by: str
    at: str
    part: str = ""
    name: str = ""
    text: str = ""
    place: int = 0
    # What is pinned, if it is a picture that somebody brought.
    picture: dict[str, Any] | None = None


def make_initial_snapshot(tab: str, *, title: str) -> Snapshot:
    """What a tab holds before anybody wrote in it."""
    if tab == "brief":
        return {"fields": {"title": {"text": title[:MAX_LINE_CHARS], "version": 0}}}
    return {"items": []}


def apply(snapshot: Snapshot, edit: Edit, new_version: int) -> Snapshot | None:
    """The tab after the edit; None if it is so already."""
    change = OPERATIONS.get((edit.tab, edit.op))
    if change is None:
        raise Refusal("PANEL_INVALID", "We do not know what to do with that.")
    after = copy.deepcopy(snapshot)
    change(after, edit, new_version)
    if after == snapshot:
        return None
    if measure_bytes(after) > MAX_TAB_BYTES:
        raise Refusal("PANEL_INVALID", "This tab is full. Shorten something first.")
    return after


def _stamp(part: Snapshot, edit: Edit, version: int) -> None:
    part |= {"version": version, "by": edit.by, "at": edit.at}


def _write(part: Snapshot, name: str, edit: Edit, version: int, longest: int) -> None:
    text = edit.text.replace("\r\n", "\n").replace("\x00", "").strip()
    if part.get(name, "") == text:
        return
    if part.get("version", 0) > edit.version:
        raise EditConflict(edit, part.get(name, ""), part)
    if len(text) > longest:
        raise Refusal("PANEL_INVALID", f"At most {longest:,} characters fit here.")
    part[name] = text
    _stamp(part, edit, version)


class EditConflict(Refusal):
    """Somebody was faster: what they wrote, and what was about to be saved."""

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
        raise Refusal("PANEL_INVALID", "A brief has no such part.")
    field = tab["fields"].setdefault(edit.part, {"text": "", "version": 0})
    longest = MAX_LINE_CHARS if edit.part == "title" else MAX_TEXT_CHARS
    _write(field, "text", edit, version, longest)


# --- Items: pins of a moodboard, entries of a shot list


def _find(tab: Snapshot, edit: Edit) -> Snapshot:
    for item in tab["items"]:
        if item["id"] == edit.part:
            return dict_of(item)
    raise Refusal("PANEL_INVALID", "Somebody has removed this meanwhile.")


def dict_of(item: Any) -> Snapshot:
    assert isinstance(item, dict)
    return item


def _add(tab: Snapshot, item: Snapshot, edit: Edit, version: int) -> None:
    if any(each["id"] == item["id"] for each in tab["items"]):
        return
    if len(tab["items"]) >= MAX_ITEMS:
        raise Refusal("PANEL_INVALID", f"At most {MAX_ITEMS} fit here.")
    _stamp(item, edit, version)
    tab["items"].append(item)


def _remove(tab: Snapshot, edit: Edit, version: int) -> None:
    tab["items"] = [each for each in tab["items"] if each["id"] != edit.part]


def _move(tab: Snapshot, edit: Edit, version: int) -> None:
    """To a place among the others. Whoever moves last has the last word."""
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
        raise Refusal("PANEL_INVALID", "A shot has no such part.")
    _write(item, edit.name, edit, version, MAX_LINE_CHARS if edit.name == "name" else 1000)


def _tick(tab: Snapshot, edit: Edit, version: int) -> None:
    item = _find(tab, edit)
    if edit.text not in TAGS:
        raise Refusal("PANEL_INVALID", "A shot is done, or still to do.")
    if item["done"] != (edit.text == "done"):
        item["done"] = edit.text == "done"
        item |= {"doneBy": edit.by, "at": edit.at}


def _add_template(tab: Snapshot, edit: Edit, version: int) -> None:
    """What of it is not there yet, so that pressing twice changes nothing."""
    if edit.text not in TEMPLATES:
        raise Refusal("PANEL_INVALID", "There is no such list.")
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
        raise Refusal("PANEL_INVALID", "A pin needs an address that begins with https://.")
    item = {"id": edit.part or new_part_id(), "link": link, "site": site, "caption": ""}
    return _add(tab, item, edit, version)


def _site_of(link: str) -> str:
    """The host of a web address; empty if it is none."""
    try:
        parts = urlsplit(link) if len(link) <= MAX_LINK_CHARS else None
    except ValueError:
        return ""
    return parts.hostname or "" if parts and parts.scheme in ("http", "https") else ""


def _show_picture(tab: Snapshot, edit: Edit, version: int) -> None:
    """What the link of a pin led to. Nobody wrote anything, so nobody's words are older now."""
    pin = _find(tab, edit)
    if not edit.picture or pin.get("link") != edit.text:
        raise Refusal("PANEL_INVALID", "This is not where the pin leads.")
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
