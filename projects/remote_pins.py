"""Background worker that downloads the images of linked pins, one at a time.

A link whose download fails or is not an image stays a link."""

import tempfile
import threading
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import structlog
from django.conf import settings
from django.db import close_old_connections, connection

from core.http_client.download import DownloadFailed
from core.refusals import Refusal
from files.actions import accept_file
from files.file_types import detect_file_type
from files.models import File, OutsidePicture
from files.remote_images.download import download_image
from files.remote_images.queue import (
    MAX_ATTEMPTS,
    claim_image,
    dequeue,
    find_downloaded,
    retry_later,
)
from projects.actions.panel import show_fetched_image
from projects.actions.pins import MOODBOARD, confirm_pin
from projects.panel.large_tabs import read_full_snapshot
from threads import cache
from threads.models.rate_buckets import take_token, upload_limits

log = structlog.get_logger(__name__)
INTERVAL_SECONDS = 2.0
# Refusals that are retried; all others are final.
TEMPORARY_REFUSALS = ("SAFETY_SOFT_BLOCK", "THREAD_LOCKED", "TRY_AGAIN", "UPLOAD_QUARANTINED")


def run_remote_pins(stop: threading.Event) -> None:
    """Runs in a thread of the server until `stop` is set."""
    while settings.FETCH_PINS and not stop.is_set():
        try:
            close_old_connections()
            while not stop.is_set() and fetch_next():
                pass
        except Exception:
            log.exception("remote_image_worker_failed")
        stop.wait(INTERVAL_SECONDS)
    connection.close()


def fetch_next() -> bool:
    """Returns whether the queue had an entry."""
    wanted = claim_image()
    if wanted is None:
        return False
    try:
        _fetch_for(wanted)
    except DownloadFailed as error:
        _fail(wanted, str(error), is_permanent=error.is_permanent)
    except Refusal as refusal:
        _fail(wanted, refusal.code, is_permanent=refusal.code not in TEMPORARY_REFUSALS)
    except Exception as error:
        log.exception("remote_image_failed")
        _fail(wanted, type(error).__name__, is_permanent=False)
    else:
        dequeue(wanted)
    return True


def _fetch_for(wanted: OutsidePicture) -> None:
    """Idempotent: each step skips what an earlier attempt has done."""
    if wanted.attempts > MAX_ATTEMPTS:
        raise DownloadFailed("too many attempts")
    pin = _find_pin(wanted)
    if pin.get("link") != wanted.link:
        raise DownloadFailed("its pin was removed")
    if "picture" in pin:
        return confirm_pin(wanted.part, thread_id=wanted.thread_id)
    file = find_downloaded(wanted) or _download(wanted)
    return show_fetched_image(
        wanted.owner,
        thread_id=wanted.thread_id,
        part=wanted.part,
        link=wanted.link,
        file=file,
    )


def _find_pin(wanted: OutsidePicture) -> dict[str, Any]:
    board = cache.reload(wanted.thread_id).tabs.get(MOODBOARD)
    pins = read_full_snapshot(board)["items"] if board else []
    return next((each for each in pins if each["id"] == wanted.part), {})


def _download(wanted: OutsidePicture) -> File:
    """Stores the image with the same limits and checks as an upload."""
    take_token(wanted.owner, upload_limits())
    with tempfile.TemporaryDirectory(prefix="parley-") as folder:
        target = Path(folder) / "download"
        download_image(wanted.link, target)
        with target.open("rb") as content:
            if detect_file_type(content).kind != File.Kind.IMAGE:
                raise DownloadFailed("not an image")
            content.seek(0)
            return accept_file(
                wanted.owner,
                thread_id=wanted.thread_id,
                name=unquote(urlsplit(wanted.link).path),
                content=content,
                file_id=wanted.file_id,
            )


def _fail(wanted: OutsidePicture, why: str, *, is_permanent: bool) -> None:
    """Drops or requeues the entry. The cleanup of unused files removes what was downloaded."""
    is_over = is_permanent or wanted.attempts >= MAX_ATTEMPTS
    host = urlsplit(wanted.link).hostname
    log.info("remote_image_skipped", host=host, why=why, is_over=is_over)
    (dequeue if is_over else retry_later)(wanted)
