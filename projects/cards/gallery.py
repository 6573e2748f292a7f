"""Pictures of a card: those that it shows, with what was said of them, and those one can show."""

from collections.abc import Sequence
from typing import Any

from accounts.models import User
from files.models import File
from files.queries import list_images
from threads.file_access import exclude_hidden
from threads.rendering.attachments import describe, view_in_tab

Picture = dict[str, Any]


def list_card_images(payload: dict[str, Any]) -> list[Picture]:
    """Of each whether it was chosen, and what should change."""
    chosen, notes = payload.get("chosen", ()), payload.get("notes", {})
    return [
        _picture(file) | {"is_chosen": file["id"] in chosen, "note": notes.get(file["id"], "")}
        for file in payload.get("files", [])
        if file["kind"] == File.Kind.IMAGE
    ]


def list_selectable_images(user: User, thread_id: str, brought: Sequence[str]) -> list[Picture]:
    """What they have shown in this conversation, and what they `brought` with this form."""
    files = exclude_hidden(list_images(user, thread_id=thread_id, also=brought))
    return [_picture(describe(file)) | {"is_chosen": file.id in brought} for file in files]


def _picture(described: dict[str, Any]) -> Picture:
    return {"id": described["id"], "view": view_in_tab(described)}
