"""Files in a project panel: pictures that are pinned, and proofs."""

from collections.abc import Sequence

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from core.refusals import Refusal
from files.actions import check_can_be_used, release_unused
from files.models import File, TabUse


def reserve_for_tab(file: File, *, tab: str, part: str) -> None:
    """Before the pin is written, so that no crash can leave one whose picture nobody keeps."""
    check_can_be_used([file])
    use, _ = TabUse.objects.get_or_create(file=file, defaults={"tab": tab, "part": part})
    if (use.tab, use.part) != (tab, part):
        raise Refusal("UPLOAD_GONE", "This picture is in the panel already.")


def place_in_tab(files: Sequence[File], *, tab: str) -> list[File]:
    """At once and for good, in the transaction of whatever records it; those that are new there."""
    check_can_be_used(files)
    there = set(TabUse.objects.filter(file__in=files).values_list("file_id", flat=True))
    new = [file for file in files if file.id not in there]
    now = timezone.now()
    TabUse.objects.bulk_create(
        [TabUse(file=file, tab=tab, settled_at=now) for file in new], ignore_conflicts=True
    )
    return new


def settle_in_tab(part: str, *, thread_id: str) -> None:
    _of_part(part, thread_id).update(settled_at=timezone.now())


def unsettle_in_tab(part: str, *, thread_id: str) -> None:
    """The pin may go: until that is known, the table is asked."""
    _of_part(part, thread_id).update(settled_at=None)


def _of_part(part: str, thread_id: str) -> QuerySet[TabUse]:
    return TabUse.objects.filter(part=part, file__thread_id=thread_id)


def release_from_tab(use: TabUse) -> None:
    """Kept for staff for a while, then swept, unless a message has it too."""
    with transaction.atomic():
        use.delete()
        release_unused([use.file_id])


def find_in_tab(part: str, *, thread_id: str) -> TabUse | None:
    return _of_part(part, thread_id).first()


def list_in_tab(tab: str, *, thread_id: str) -> list[TabUse]:
    """In the order in which they came."""
    uses = TabUse.objects.filter(tab=tab, file__thread_id=thread_id)
    return list(uses.select_related("file").order_by("created_at", "pk"))
