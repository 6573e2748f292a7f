"""Removing what nothing needs any more: what was never sent, and what went with its message."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from files import storage
from files.models import File, FileUse, TabUse

# A message may wait so long in a browser before it is sent, with the files that it names.
UNSENT = timedelta(days=31)
# Cut off while it was taken in.
UNFINISHED = timedelta(hours=1)
AT_ONCE = 500
# Those above us who need files for longer: each names threads of which nothing goes, by a query.
RETENTION_QUERIES: list[Callable[[], QuerySet[Any, Any]]] = []


def delete_unused_files() -> int:
    """How many went. Bytes first: what is cut off in between is found again by its row."""
    swept = 0
    for file in _list_unneeded()[:AT_ONCE]:
        with transaction.atomic():
            # Unless a message took it, or a case, since it was listed.
            mine = _list_unneeded().select_for_update(of=("self",)).filter(pk=file.pk).first()
            if mine is None:
                continue
            storage.delete(mine)
            mine.delete()
            swept += 1
    return swept


def _list_unneeded() -> QuerySet[File]:
    now = timezone.now()
    kept = timedelta(days=settings.FILES["kept_days"])
    unneeded = (
        Q(state=File.State.QUARANTINED, created_at__lt=now - UNFINISHED)
        | Q(released_at__lt=now - kept)
        | Q(released_at=None, created_at__lt=now - UNSENT)
    )
    in_use = FileUse.objects.values("file_id")
    return exclude_retained(File.objects.filter(unneeded, tab_use=None).exclude(pk__in=in_use))


def exclude_retained(files: QuerySet[File]) -> QuerySet[File]:
    """Those that nobody above us needs."""
    for keeper in RETENTION_QUERIES:
        files = files.exclude(thread_id__in=keeper())
    return files


def list_unsettled_uses(older_than: timedelta) -> list[FileUse]:
    """Reserved for a message of which we never heard whether it was stored."""
    long_ago = timezone.now() - older_than
    uses = FileUse.objects.filter(message_id="", created_at__lt=long_ago)
    return list(uses.select_related("file").order_by("created_at")[:AT_ONCE])


def list_unsettled_tab_uses(older_than: timedelta) -> list[TabUse]:
    """Of a pin that came or went, and we never heard whether it did."""
    long_ago = timezone.now() - older_than
    uses = TabUse.objects.filter(settled_at=None, created_at__lt=long_ago)
    return list(uses.select_related("file").order_by("created_at")[:AT_ONCE])
