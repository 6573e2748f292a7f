"""Images of moodboard pins.

The pin is stored in DynamoDB and its file in SQL, where it is kept as long as the pin exists. A
crash between the two writes is repaired by the next request for the file (threads/file_access.py)
or by the cleanup job.
"""

from typing import Any

import structlog
from django.conf import settings
from django.db import DatabaseError

from accounts.models import User
from core.http_client.download import is_downloadable
from core.refusals import Refusal
from files.models import File, OutsidePicture
from files.remote_images import queue
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
    """Derives the pin's id from the file's, so that pinning a file twice makes one pin."""
    return file_id[-12:].lower()


def reserve_image(user: User, file_id: str, *, thread_id: str) -> dict[str, Any]:
    (file,) = list_usable_files(user, [file_id], thread_id=thread_id)
    if file.kind != File.Kind.IMAGE:
        raise Refusal("UPLOAD_TYPE", "Only photos can be pinned.")
    reserve_for_tab(file, tab=MOODBOARD, part=pin_id_for(file_id))
    return describe_in_tab(file)


def queue_remote_image(user: User, edit: Edit, *, thread_id: str) -> OutsidePicture | None:
    """Queues the download of a link's image before the pin is written; None if it has none."""
    link = edit.text.strip()
    if not settings.FETCH_PINS or len(link) > MAX_LINK_CHARS or not is_downloadable(link):
        return None
    return queue.enqueue_image(user, thread_id=thread_id, part=edit.part, link=link)


def cancel_remote_image(wanted: OutsidePicture | None) -> None:
    if wanted is not None:
        queue.dequeue(wanted)


def start_remote_image(wanted: OutsidePicture | None) -> None:
    """Must not raise: the worker picks up entries that were not started after a minute."""
    try:
        if wanted is not None:
            queue.mark_due(wanted)
    except DatabaseError:
        log.exception("remote_image_start_failed", thread=wanted and wanted.thread_id)


def prepare_removal(part: str, *, thread_id: str) -> None:
    unsettle_in_tab(part, thread_id=thread_id)


def confirm_pin(part: str, *, thread_id: str) -> None:
    try:
        settle_in_tab(part, thread_id=thread_id)
    except DatabaseError:
        log.exception("pin_settle_failed", thread=thread_id, part=part)


def release_image(part: str, *, thread_id: str) -> None:
    """Must not raise: the pin is already removed, and the cleanup job retries."""
    try:
        use = find_in_tab(part, thread_id=thread_id)
        if use is not None:
            release_from_tab(use)
    except DatabaseError:
        log.exception("image_release_failed", thread=thread_id, part=part)
