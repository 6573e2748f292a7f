"""Files of a user, and files without a use."""

from collections.abc import Callable, Sequence
from typing import Any

from django.db.models import Q, QuerySet

from accounts.models import User
from files.models import File

MAX_SHOWN = 60
# Registered by other apps: queries of ids of files that they use.
USE_QUERIES: list[Callable[[], QuerySet[Any, Any]]] = []


def list_unused() -> QuerySet[File]:
    """Files that are in no message, in no tab and not used by another app."""
    unused = File.objects.filter(uses=None, tab_use=None)
    for used_ids in USE_QUERIES:
        unused = unused.exclude(pk__in=used_ids())
    return unused


def list_images(owner: User, *, thread_id: str, also: Sequence[str] = ()) -> list[File]:
    """The owner's images in the thread or among the proofs of its panel, newest first, and those in
    `also`, which have no use yet."""
    in_use = Q(uses__isnull=False) | Q(tab_use__part="") & Q(tab_use__isnull=False)
    found: QuerySet[File] = File.objects.filter(
        in_use | Q(pk__in=also),
        owner=owner,
        thread_id=thread_id,
        kind=File.Kind.IMAGE,
        state=File.State.READY,
        released_at=None,
    )
    return list(found.distinct().order_by("-created_at", "-id")[:MAX_SHOWN])
