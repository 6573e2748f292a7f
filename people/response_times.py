"""How quickly a user answers requests, from the latest ones that they received.

A request counts once it is accepted, or as unanswered after a day. Declined ones do not count: a
declined request must look like an unanswered one, and spam must not make anyone look slow.
"""

from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from people.models import FirstContact, ServiceProfile
from people.models.profiles import ResponseTime
from people.search.index import refresh_listing

# Fewer requests say nothing about a user.
MIN_COUNTED = 3
MAX_COUNTED = 20
LIMITS = (
    (timedelta(hours=1), ResponseTime.HOUR),
    (timedelta(hours=6), ResponseTime.HOURS),
    (timedelta(days=1), ResponseTime.DAY),
)
UNANSWERED = timedelta.max


@transaction.atomic
def record_request(thread_id: str, recipient_id: str, *, asked_at: datetime) -> None:
    _add_contact(thread_id, recipient_id, asked_at)
    update_response_time(recipient_id)


@transaction.atomic
def record_acceptance(thread_id: str, recipient_id: str, *, asked_at: datetime) -> None:
    """The first acceptance counts. Requests from before this was recorded are added."""
    _add_contact(thread_id, recipient_id, asked_at)
    unanswered = FirstContact.objects.filter(pk=thread_id, answered_at=None)
    unanswered.update(answered_at=timezone.now())
    update_response_time(recipient_id)


@transaction.atomic
def record_refusal(thread_id: str, recipient_id: str) -> None:
    FirstContact.objects.filter(pk=thread_id, answered_at=None).delete()
    update_response_time(recipient_id)


def _add_contact(thread_id: str, recipient_id: str, asked_at: datetime) -> None:
    new = FirstContact(thread_id=thread_id, recipient_id=recipient_id, asked_at=asked_at)
    FirstContact.objects.bulk_create([new], ignore_conflicts=True)


def update_response_time(user_id: str) -> None:
    """Stores the response time on the profile. Runs in the transaction of the caller."""
    profile = ServiceProfile.objects.select_for_update().filter(pk=user_id).first()
    if profile is None:
        return
    response_time = measure(user_id)
    if profile.response_time != response_time:
        ServiceProfile.objects.filter(pk=user_id).update(response_time=response_time)
        refresh_listing(user_id)


def measure(user_id: str) -> ResponseTime:
    latest = FirstContact.objects.filter(recipient=user_id).order_by("-asked_at")
    waits = [_wait(contact) for contact in latest[:MAX_COUNTED]]
    counted = sorted(wait for wait in waits if wait is not None)
    if len(counted) < MIN_COUNTED:
        return ResponseTime.UNKNOWN
    usual = counted[len(counted) // 2]
    return next((name for limit, name in LIMITS if usual <= limit), ResponseTime.UNKNOWN)


def _wait(contact: FirstContact) -> timedelta | None:
    """How long it took; None for a recent request that can still be answered quickly."""
    if contact.answered_at is not None:
        return contact.answered_at - contact.asked_at
    is_recent = timezone.now() - contact.asked_at < timedelta(days=1)
    return None if is_recent else UNANSWERED
