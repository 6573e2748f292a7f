"""Files that somebody brought."""

from collections.abc import Sequence

from django.db.models import Q, QuerySet

from accounts.models import User
from files.models import File

MAX_SHOWN = 60


def list_images(owner: User, *, thread_id: str, also: Sequence[str] = ()) -> list[File]:
    """Theirs that are in the conversation or among the proofs of its panel, the newest first; and
    these others, which are in nothing yet."""
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
