"""The queue of exports: requesting, claiming, finishing, downloading and deleting them.

Their content is written by privacy.export.
"""

from datetime import datetime, timedelta
from pathlib import Path
from uuid import uuid4

import structlog
from django.conf import settings
from django.core.files.base import File as Content
from django.db import IntegrityError, transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from accounts.models import User
from core.refusals import Refusal
from files.models import Export, ExportState
from files.storage import get_storage

log = structlog.get_logger(__name__)
UNFINISHED = (ExportState.WAITING, ExportState.MAKING)
# The worker renews its claim while it writes; an older claim is taken over.
CLAIM_TIMEOUT = timedelta(minutes=5)
RETRY_DELAY = timedelta(seconds=30)
MAX_ATTEMPTS = 3
MAX_EXPORTS_PER_DAY = 20


def request_export(owner: User, *, about: str, thread_id: str = "") -> Export:
    """Returns the unfinished export, if there is one."""
    unfinished = Export.objects.filter(owner=owner, thread_id=thread_id, state__in=UNFINISHED)
    found = unfinished.first()
    if found is not None:
        return found
    _check_daily_limit(owner)
    try:
        with transaction.atomic():
            return Export.objects.create(owner=owner, thread_id=thread_id, about=about)
    except IntegrityError:  # Requested concurrently.
        return unfinished.get()


def _check_daily_limit(owner: User) -> None:
    since = timezone.now() - timedelta(days=1)
    if Export.objects.filter(owner=owner, created_at__gt=since).count() >= MAX_EXPORTS_PER_DAY:
        raise Refusal(
            "RATE_LIMITED",
            "You've reached today's limit of exports. Try again tomorrow.",
            retry_after=3600,
        )


def list_exports(owner: User) -> list[Export]:
    unexpired = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    return list(Export.objects.filter(unexpired, owner=owner).order_by("-created_at"))


def access_export(owner: User, export_id: str) -> Export:
    """The owner's finished export, until it expires."""
    found = Export.objects.filter(
        pk=export_id, owner=owner, state=ExportState.READY, expires_at__gt=timezone.now()
    ).first()
    if found is None:
        raise Refusal("EXPORT_NOT_FOUND")
    return found


# --- Worker


def claim_export() -> Export | None:
    """Claims the oldest export that is waiting or abandoned. None if there is none, or if another
    worker claimed it first."""
    abandoned = Q(state=ExportState.MAKING, claimed_at__lt=timezone.now() - CLAIM_TIMEOUT)
    found = (
        Export.objects.select_related("owner")
        .filter(Q(state=ExportState.WAITING) | abandoned)
        .order_by("created_at")
        .first()
    )
    if found is None:
        return None
    if found.claim:
        get_storage().delete(found.path)
    if found.attempts >= MAX_ATTEMPTS:
        _claimed(found).update(state=ExportState.FAILED, expires_at=_expiry())
        return None
    claim = str(uuid4())
    values = {"state": ExportState.MAKING, "claim": claim, "claimed_at": timezone.now()}
    if not _claimed(found).update(**values, attempts=F("attempts") + 1):
        return None
    found.claim, found.state = claim, ExportState.MAKING
    return found


def _claimed(export: Export) -> QuerySet[Export]:
    return Export.objects.filter(pk=export.pk, claim=export.claim, state=export.state)


def renew_claim(export: Export) -> bool:
    """False if the claim was lost or the export was deleted."""
    return bool(_claimed(export).update(claimed_at=timezone.now()))


def finish_export(export: Export, path: Path) -> bool:
    """Stores the content before the row. False if the claim was lost."""
    with path.open("rb") as content:
        get_storage().save(export.path, Content(content))
    was_ours = _claimed(export).update(
        state=ExportState.READY, size=path.stat().st_size, expires_at=_expiry()
    )
    if not was_ours:
        get_storage().delete(export.path)
    return bool(was_ours)


def retry_later(export: Export) -> None:
    """Makes the claim time out after the retry delay."""
    _claimed(export).update(claimed_at=timezone.now() - CLAIM_TIMEOUT + RETRY_DELAY)


def _expiry() -> datetime:
    return timezone.now() + timedelta(days=settings.EXPORT_DAYS)


# --- Deleting


def delete_expired_exports() -> int:
    return sum(_delete(one) for one in Export.objects.filter(expires_at__lt=timezone.now()))


def delete_exports(owner: User) -> None:
    for export in Export.objects.filter(owner=owner):
        _delete(export)


def _delete(export: Export) -> int:
    if export.claim:
        get_storage().delete(export.path)
    return export.delete()[0]
