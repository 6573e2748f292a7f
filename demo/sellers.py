"""What demo users offer, and how quickly they answered first messages."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from accounts.models import User
from people.actions import change_services
from people.models import FirstContact, ServiceProfile
from people.response_times import update_response_time


class PastContact(NamedTuple):
    thread_id: str
    asked_at: datetime
    answered_at: datetime


def offer_services(user: User, services: dict[str, Any]) -> None:
    """Leaves what a user of the demo has changed since."""
    if not ServiceProfile.objects.filter(pk=user.pk).exists():
        change_services(user, offers_services=True, **services)


def add_contacts(user: User, contacts: Iterable[PastContact]) -> None:
    FirstContact.objects.bulk_create(
        (FirstContact(recipient=user, **contact._asdict()) for contact in contacts),
        ignore_conflicts=True,
    )
    update_response_time(user.pk)
