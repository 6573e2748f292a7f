"""Exports: asking for one, making it, getting it, and letting it go. What is in it is not known
here."""

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
from files.models import Export
from files.storage import get_storage

log = structlog.get_logger(__name__)
COMING = (Export.State.WAITING, Export.State.MAKING)
# Whoever makes one says in between that they are at it; after so long without a word they are not.
SILENT = timedelta(minutes=5)
AGAIN = timedelta(seconds=30)
MAX_ATTEMPTS = 3
MAX_EXPORTS_PER_DAY = 20


def request_export(owner: User, *, about: str, thread_id: str = "") -> Export:
    """Asked for twice while it is coming, it is the same one."""
    coming = Export.objects.filter(owner=owner, thread_id=thread_id, state__in=COMING)
    found = coming.first()
    if found is not None:
        return found
    _check_patience(owner)
    try:
        with transaction.atomic():
            return Export.objects.create(owner=owner, thread_id=thread_id, about=about)
    except IntegrityError:  # By another click, just now.
        return coming.get()


def _check_patience(owner: User) -> None:
    since = timezone.now() - timedelta(days=1)
    if Export.objects.filter(owner=owner, created_at__gt=since).count() >= MAX_EXPORTS_PER_DAY:
        raise Refusal("RATE_LIMITED", "You asked for many exports today.", retry_after=3600)


def list_exports(owner: User) -> list[Export]:
    unexpired = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    return list(Export.objects.filter(unexpired, owner=owner).order_by("-created_at"))


def access_export(owner: User, export_id: str) -> Export:
    """One's own, while it can be had."""
    found = Export.objects.filter(
        pk=export_id, owner=owner, state=Export.State.READY, expires_at__gt=timezone.now()
    ).first()
    if found is None:
        raise Refusal("EXPORT_NOT_FOUND")
    return found


# --- Making


def claim_export() -> Export | None:
    """The oldest that waits, or that nobody is at any more; None if somebody else was faster."""
    lost = Q(state=Export.State.MAKING, claimed_at__lt=timezone.now() - SILENT)
    found = (
        Export.objects.select_related("owner")
        .filter(Q(state=Export.State.WAITING) | lost)
        .order_by("created_at")
        .first()
    )
    if found is None:
        return None
    if found.claim:
        get_storage().delete(found.path)
    if found.attempts >= MAX_ATTEMPTS:
        _mine(found).update(state=Export.State.FAILED, expires_at=_last_day())
        return None
    claim = str(uuid4())
    values = {"state": Export.State.MAKING, "claim": claim, "claimed_at": timezone.now()}
    if not _mine(found).update(**values, attempts=F("attempts") + 1):
        return None
    found.claim, found.state = claim, Export.State.MAKING
    return found


def _mine(export: Export) -> QuerySet[Export]:
    return Export.objects.filter(pk=export.pk, claim=export.claim, state=export.state)


def renew_claim(export: Export) -> bool:
    """Also says that somebody is at it. It may have gone, with its owner."""
    return bool(_mine(export).update(claimed_at=timezone.now()))


def finish_export(export: Export, made: Path) -> bool:
    """Bytes first. Whether it was still ours to finish."""
    with made.open("rb") as content:
        get_storage().save(export.path, Content(content))
    is_done = _mine(export).update(
        state=Export.State.READY, size=made.stat().st_size, expires_at=_last_day()
    )
    if not is_done:
        get_storage().delete(export.path)
    return bool(is_done)


def retry_later(export: Export) -> None:
    """It did not work this time; in a while somebody tries again."""
    _mine(export).update(claimed_at=timezone.now() - SILENT + AGAIN)


def _last_day() -> datetime:
    return timezone.now() + timedelta(days=settings.EXPORT_DAYS)


# --- Letting go


def delete_expired_exports() -> int:
    return sum(_discard(one) for one in Export.objects.filter(expires_at__lt=timezone.now()))


def delete_exports(owner: User) -> None:
    for export in Export.objects.filter(owner=owner):
        _discard(export)


def _discard(export: Export) -> int:
    if export.claim:
        get_storage().delete(export.path)
    return export.delete()[0]
