"""Pictures that somebody brought to a moodboard: kept in SQL as long as their pin is there.

The pin is in the table and the picture in SQL: what a crash leaves between the two is settled by
the next who asks for the picture (threads/file_access.py), or by the sweeper.
"""

from typing import Any

import structlog
from django.conf import settings
from django.db import DatabaseError

from accounts.models import User
from core.refusals import Refusal
from files.models import File, OutsidePicture
from files.remote_images import queue
from files.remote_images.download import is_downloadable
from files.tab_uses import (
    find_in_tab,
    release_from_tab,
    reserve_for_tab,
    settle_in_tab,
    unsettle_in_tab,
)
from projects.panel.editable_tabs import MAX_LINK_CHARS, Edit
from threads.file_access import list_usable_files
from threads.rendering.attachments import describe_in_tab

log = structlog.get_logger(__name__)
MOODBOARD = "moodboard"


def pin_id_for(file_id: str) -> str:
    """The pin's id follows from the picture's: pinned twice, it is one pin."""
    return file_id[-12:].lower()


def reserve_image(user: User, file_id: str, *, thread_id: str) -> dict[str, Any]:
    (file,) = list_usable_files(user, [file_id], thread_id=thread_id)
    if file.kind != File.Kind.IMAGE:
        raise Refusal("UPLOAD_TYPE", "Only pictures can be pinned.")
    reserve_for_tab(file, tab=MOODBOARD, part=pin_id_for(file_id))
    return describe_in_tab(file)


def queue_remote_image(user: User, edit: Edit, *, thread_id: str) -> OutsidePicture | None:
    """Before the pin is written, where there may be a picture behind its link."""
    link = edit.text.strip()
    if not settings.FETCH_PINS or len(link) > MAX_LINK_CHARS or not is_downloadable(link):
        return None
    return queue.enqueue_image(user, thread_id=thread_id, part=edit.part, link=link)


def cancel_remote_image(wanted: OutsidePicture | None) -> None:
    if wanted is not None:
        queue.dequeue(wanted)


def start_remote_image(wanted: OutsidePicture | None) -> None:
    """What fails here is found a minute later."""
    try:
        if wanted is not None:
            queue.mark_due(wanted)
    except DatabaseError:
        log.exception("picture_not_begun", thread=wanted and wanted.thread_id)


def prepare_removal(part: str, *, thread_id: str) -> None:
    unsettle_in_tab(part, thread_id=thread_id)


def confirm_pin(part: str, *, thread_id: str) -> None:
    try:
        settle_in_tab(part, thread_id=thread_id)
    except DatabaseError:
        log.exception("pin_not_settled", thread=thread_id, part=part)


def release_image(part: str, *, thread_id: str) -> None:
    """The pin is gone; what fails here, the sweeper does."""
    try:
        use = find_in_tab(part, thread_id=thread_id)
        if use is not None:
            release_from_tab(use)
    except DatabaseError:
        log.exception("picture_not_released", thread=thread_id, part=part)
