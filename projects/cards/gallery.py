"""Images of a card: those it shows, with selections and notes, and those a form offers."""

from collections.abc import Sequence
from typing import Any

from accounts.models import User
from files.models import File
from files.queries import list_images
from threads.file_access import exclude_hidden
from threads.rendering.attachments import describe, view_in_tab

Picture = dict[str, Any]


def list_card_images(payload: dict[str, Any]) -> list[Picture]:
    """Lists the images of a card with their selection and requested changes."""
    chosen, notes = payload.get("chosen", ()), payload.get("notes", {})
    return [
        _picture(file) | {"is_chosen": file["id"] in chosen, "note": notes.get(file["id"], "")}
        for file in payload.get("files", [])
        if file["kind"] == File.Kind.IMAGE
    ]


def list_selectable_images(user: User, thread_id: str, uploaded: Sequence[str]) -> list[Picture]:
    """Lists the images the user shared in this thread, including those `uploaded` with the form."""
    files = exclude_hidden(list_images(user, thread_id=thread_id, also=uploaded))
    return [_picture(describe(file)) | {"is_chosen": file.id in uploaded} for file in files]


def _picture(described: dict[str, Any]) -> Picture:
    return {"id": described["id"], "view": view_in_tab(described)}
