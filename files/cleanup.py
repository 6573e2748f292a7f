"""Deletes files that were never sent, or whose message was removed."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from files import storage
from files.models import File, FileUse, TabUse
from files.queries import list_unused

# An offline client may keep a message, with its files, for so long before sending it.
UNSENT_RETENTION = timedelta(days=31)
# The upload was interrupted.
UNFINISHED_RETENTION = timedelta(hours=1)
BATCH_SIZE = 500
# Registered by other apps: queries of thread ids whose files must not be deleted.
RETENTION_QUERIES: list[Callable[[], QuerySet[Any, Any]]] = []


def delete_unused_files() -> int:
    """Returns the number of deleted files. Deletes the content before the row, so that after an
    interruption the row is found again."""
    deleted = 0
    for file in _list_unused()[:BATCH_SIZE]:
        with transaction.atomic():
            # A message or a case may use it since it was listed.
            locked = _list_unused().select_for_update(of=("self",)).filter(pk=file.pk).first()
            if locked is None:
                continue
            storage.delete(locked)
            locked.delete()
            deleted += 1
    return deleted


def _list_unused() -> QuerySet[File]:
    now = timezone.now()
    kept = timedelta(days=settings.FILES["kept_days"])
    expired = (
        Q(state=File.State.QUARANTINED, created_at__lt=now - UNFINISHED_RETENTION)
        | Q(released_at__lt=now - kept)
        | Q(released_at=None, created_at__lt=now - UNSENT_RETENTION)
    )
    return exclude_retained(list_unused().filter(expired))


def exclude_retained(files: QuerySet[File]) -> QuerySet[File]:
    """Excludes files that other apps retain."""
    for retained_threads in RETENTION_QUERIES:
        files = files.exclude(thread_id__in=retained_threads())
    return files


def list_unsettled_uses(older_than: timedelta) -> list[FileUse]:
    """Uses reserved for a message that may or may not have been stored."""
    before = timezone.now() - older_than
    uses = FileUse.objects.filter(message_id="", created_at__lt=before)
    return list(uses.select_related("file").order_by("created_at")[:BATCH_SIZE])


def list_unsettled_tab_uses(older_than: timedelta) -> list[TabUse]:
    """Uses by a pin whose adding or removal may or may not have been stored."""
    before = timezone.now() - older_than
    uses = TabUse.objects.filter(settled_at=None, created_at__lt=before)
    return list(uses.select_related("file").order_by("created_at")[:BATCH_SIZE])
