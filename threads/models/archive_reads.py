"""Reads of the archive's storage that end in time: one that hangs must not hold up a page.

After a read that failed the storage is left alone for a few seconds, so that a page with many
messages waits once and not for each of them.
"""

import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

import structlog
from django.conf import settings

log = structlog.get_logger(__name__)

# At the same time; threads that hang in the storage count.
MAX_READS = 16
RETRY_SECONDS = 5.0

_slots = threading.BoundedSemaphore(MAX_READS)
_lock = threading.Lock()
_retry_at = 0.0


class ArchiveUnavailable(Exception):
    """The storage did not answer, or not in time."""


def read_with_timeout(read: Callable[[], Any]) -> Any:
    """What `read` returns. Raises FileNotFoundError and ValueError as it does, and
    ArchiveUnavailable for everything else."""
    if time.monotonic() < _retry_at:
        raise ArchiveUnavailable("left alone after an error")
    if not _slots.acquire(blocking=False):
        raise ArchiveUnavailable("too many reads hang")
    answers: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
    threading.Thread(target=_run, args=[read, answers], daemon=True).start()
    try:
        answer, error = answers.get(timeout=settings.ARCHIVE_TIMEOUT)
    except Empty:
        error = TimeoutError(f"no answer in {settings.ARCHIVE_TIMEOUT} seconds")
    if error is None or isinstance(error, (FileNotFoundError, ValueError)):
        _note_answer()
        if error is not None:
            raise error
        return answer
    _note_error(error)
    raise ArchiveUnavailable(str(error)) from error


def _run(read: Callable[[], Any], answers: SimpleQueue[tuple[Any, BaseException | None]]) -> None:
    try:
        answers.put((read(), None))
    except BaseException as error:
        answers.put((None, error))
    finally:
        _slots.release()


def _note_error(error: BaseException) -> None:
    """Logged once when the storage goes away, not for each read."""
    global _retry_at
    with _lock:
        if not _retry_at:
            log.warning("archive_unavailable", error=type(error).__name__, reason=str(error)[:200])
        _retry_at = time.monotonic() + RETRY_SECONDS


def _note_answer() -> None:
    global _retry_at
    with _lock:
        if _retry_at:
            log.info("archive_available")
        _retry_at = 0.0


def reset() -> None:
    global _retry_at
    with _lock:
        _retry_at = 0.0
