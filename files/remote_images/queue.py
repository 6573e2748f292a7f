"""The queue of remote images of pins: one row for each image that is still to be downloaded."""

from datetime import timedelta

from django.db.models import F
from django.utils import timezone

from accounts.models import User
from files import storage
from files.models import File, OutsidePicture

# The time to write the pin. After a crash in between, the worker looks whether the pin exists.
PIN_GRACE = timedelta(minutes=1)
# Longer than a download can take.
LEASE = timedelta(minutes=5)
RETRY_DELAYS = (timedelta(seconds=30), timedelta(minutes=5))
MAX_ATTEMPTS = 1 + len(RETRY_DELAYS)


def enqueue_image(owner: User, *, thread_id: str, part: str, link: str) -> OutsidePicture | None:
    """Called before the pin is written, so that a crash does not lose it. None if it is already
    queued."""
    existing = OutsidePicture.objects.filter(thread_id=thread_id, part=part)
    # Left by an earlier pin with the same id.
    existing.exclude(link=link).delete()
    queued, is_new = existing.get_or_create(
        defaults={
            "thread_id": thread_id,
            "part": part,
            "owner": owner,
            "link": link,
            "due_at": timezone.now() + PIN_GRACE,
        }
    )
    return queued if is_new else None


def mark_due(queued: OutsidePicture) -> None:
    """Called once the pin is stored."""
    OutsidePicture.objects.filter(pk=queued.pk).update(due_at=timezone.now())


def dequeue(queued: OutsidePicture) -> None:
    OutsidePicture.objects.filter(pk=queued.pk).delete()


def claim_image() -> OutsidePicture | None:
    """Leases the image that is due first. None if none is due, or if another worker was faster."""
    due = OutsidePicture.objects.filter(due_at__lte=timezone.now())
    found = due.select_related("owner").order_by("due_at", "pk").first()
    if found is None:
        return None
    unclaimed = OutsidePicture.objects.filter(pk=found.pk, due_at=found.due_at)
    if not unclaimed.update(due_at=timezone.now() + LEASE, attempts=F("attempts") + 1):
        return None
    found.attempts += 1
    return found


def retry_later(queued: OutsidePicture) -> None:
    """Schedules the next attempt."""
    delay = RETRY_DELAYS[min(queued.attempts, len(RETRY_DELAYS)) - 1]
    OutsidePicture.objects.filter(pk=queued.pk).update(due_at=timezone.now() + delay)


def find_downloaded(queued: OutsidePicture) -> File | None:
    """The file of an earlier attempt, if it is complete; deletes an incomplete one."""
    file = File.objects.filter(pk=queued.file_id).first()
    if file is None or file.state == File.State.READY:
        return file
    storage.delete(file)
    file.delete()
    return None
