"""Pictures from elsewhere on the web that somebody pinned: a row for each that is to be fetched,
and no longer. What is behind the link may come later, at another server, or never."""

from datetime import timedelta

from django.db.models import F
from django.utils import timezone

from accounts.models import User
from files import storage
from files.models import File, OutsidePicture

# Until then whoever pins it says that the pin is there; after a crash in between, it is looked for.
UNSURE = timedelta(minutes=1)
# Longer than it ever takes: whoever has it for so long has gone.
LEASE = timedelta(minutes=5)
AGAIN = (timedelta(seconds=30), timedelta(minutes=5))
MAX_ATTEMPTS = 1 + len(AGAIN)


def enqueue_image(owner: User, *, thread_id: str, part: str, link: str) -> OutsidePicture | None:
    """Before the pin is written, so that a crash does not forget it. None if it is on its way."""
    there = OutsidePicture.objects.filter(thread_id=thread_id, part=part)
    # Of a pin by the same name that has gone.
    there.exclude(link=link).delete()
    wanted, is_new = there.get_or_create(
        defaults={
            "thread_id": thread_id,
            "part": part,
            "owner": owner,
            "link": link,
            "due_at": timezone.now() + UNSURE,
        }
    )
    return wanted if is_new else None


def mark_due(wanted: OutsidePicture) -> None:
    """Its pin is there."""
    OutsidePicture.objects.filter(pk=wanted.pk).update(due_at=timezone.now())


def dequeue(wanted: OutsidePicture) -> None:
    OutsidePicture.objects.filter(pk=wanted.pk).delete()


def claim_image() -> OutsidePicture | None:
    """One that is due, for us alone for a while; None if there is none, or another was faster."""
    due = OutsidePicture.objects.filter(due_at__lte=timezone.now())
    found = due.select_related("owner").order_by("due_at", "pk").first()
    if found is None:
        return None
    mine = OutsidePicture.objects.filter(pk=found.pk, due_at=found.due_at)
    if not mine.update(due_at=timezone.now() + LEASE, attempts=F("attempts") + 1):
        return None
    found.attempts += 1
    return found


def retry_later(wanted: OutsidePicture) -> None:
    """Not this time."""
    again = AGAIN[min(wanted.attempts, len(AGAIN)) - 1]
    OutsidePicture.objects.filter(pk=wanted.pk).update(due_at=timezone.now() + again)


def find_downloaded(wanted: OutsidePicture) -> File | None:
    """By an attempt before this one, if it came so far; what it left half-done goes."""
    file = File.objects.filter(pk=wanted.file_id).first()
    if file is None or file.state == File.State.READY:
        return file
    storage.delete(file)
    file.delete()
    return None
