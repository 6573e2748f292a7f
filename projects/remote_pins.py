"""Fetches pictures that somebody pinned by their address, one after the other, in a thread of the
server. What was not there in time, or is no picture, stays the link that it is."""

import tempfile
import threading
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import structlog
from django.conf import settings
from django.db import close_old_connections, connection

from core.refusals import Refusal
from files.actions import accept_file
from files.file_types import find_kind
from files.models import File, OutsidePicture
from files.remote_images.download import NotFetched, fetch
from files.remote_images.queue import MAX_ATTEMPTS, claim_picture, find_fetched, forget, put_back
from projects.actions.panel import show_picture
from projects.actions.pins import MOODBOARD, settle_pinned
from projects.panel.large_tabs import read_whole
from threads import cache as states
from threads.actions.rate_limits import spend, upload_limits

log = structlog.get_logger(__name__)
EVERY = 2.0
# A refusal that may be none in a while; every other one is an answer.
PASSING = ("SAFETY_SOFT_BLOCK", "THREAD_LOCKED", "TRY_AGAIN", "UPLOAD_QUARANTINED")


def fetch_forever(stop: threading.Event) -> None:
    """The server runs this in a thread of its own."""
    while settings.FETCH_PINS and not stop.is_set():
        try:
            close_old_connections()
            while not stop.is_set() and fetch_next():
                pass
        except Exception:
            log.exception("fetcher_failed")
        stop.wait(EVERY)
    connection.close()


def fetch_next() -> bool:
    """Whether there was one."""
    wanted = claim_picture()
    if wanted is None:
        return False
    try:
        _fetch_for(wanted)
    except NotFetched as error:
        _fail(wanted, str(error), for_good=error.for_good)
    except Refusal as refusal:
        _fail(wanted, refusal.code, for_good=refusal.code not in PASSING)
    except Exception as error:
        log.exception("fetch_failed")
        _fail(wanted, type(error).__name__, for_good=False)
    else:
        forget(wanted)
    return True


def _fetch_for(wanted: OutsidePicture) -> None:
    """Each step finds done what an attempt before this one has done."""
    if wanted.attempts > MAX_ATTEMPTS:
        raise NotFetched("it never came to an end")
    pin = _find_pin(wanted)
    if pin.get("link") != wanted.link:
        raise NotFetched("its pin has gone")
    if "picture" in pin:
        return settle_pinned(wanted.part, thread_id=wanted.thread_id)
    file = find_fetched(wanted) or _bring(wanted)
    return show_picture(
        wanted.owner,
        thread_id=wanted.thread_id,
        part=wanted.part,
        link=wanted.link,
        file=file,
    )


def _find_pin(wanted: OutsidePicture) -> dict[str, Any]:
    board = states.look(wanted.thread_id).tabs.get(MOODBOARD)
    pins = read_whole(board)["items"] if board else []
    return next((each for each in pins if each["id"] == wanted.part), {})


def _bring(wanted: OutsidePicture) -> File:
    """Through the same gate as what people bring themselves; pictures only."""
    spend(wanted.owner, upload_limits())
    with tempfile.TemporaryDirectory(prefix="parley-") as folder:
        came = Path(folder) / "came"
        fetch(wanted.link, came)
        with came.open("rb") as content:
            if find_kind(content).kind != File.Kind.IMAGE:
                raise NotFetched("not a picture")
            content.seek(0)
            return accept_file(
                wanted.owner,
                thread_id=wanted.thread_id,
                name=unquote(urlsplit(wanted.link).path),
                content=content,
                file_id=wanted.file_id,
            )


def _fail(wanted: OutsidePicture, why: str, *, for_good: bool) -> None:
    """What was fetched for a pin that does not show it goes with what nobody sent."""
    is_over = for_good or wanted.attempts >= MAX_ATTEMPTS
    host = urlsplit(wanted.link).hostname
    log.info("picture_not_fetched", host=host, why=why, is_over=is_over)
    (forget if is_over else put_back)(wanted)
