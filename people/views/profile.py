"""The profile page of a user, and blocking them there."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from accounts.blocks import list_blocks_between
from accounts.http import AuthenticatedRequest
from accounts.models import User
from accounts.queries import get_person
from contracts.queries import count_completed_bookings
from core.time_zones import time_in
from people.models import ServiceProfile
from people.portfolio import list_portfolio
from people.summaries import summarise
from people.verification import get_status
from threads.actions.blocks import block_person, unblock_person
from threads.dynamodb import keys
from threads.models import Participant
from threads.queries import list_shared_rows
from threads.rendering.labels import row_label

MAX_COUNTED_BOOKINGS = 100
MAX_SHARED = 5


@require_safe
@login_required
def profile(request: AuthenticatedRequest, handle: str) -> HttpResponse:
    person = get_person(handle)
    is_me = person == request.user
    context = {
        "person": person,
        "summary": summarise(person, ServiceProfile.objects.filter(pk=person.pk).first()),
        "is_me": is_me,
        "local_time": time_in(person.time_zone),
        "completed": _count_label(person),
        "start_url": "",
        "report_url": "",
        "portfolio": list_portfolio(person),
        "verification": get_status(person) if is_me else None,
    }
    if not is_me:
        context |= _relation(request.user, person)
    return render(request, "people/profile.html", context)


def _relation(viewer: User, person: User) -> dict[str, Any]:
    """What depends on the viewer. A block by the other user is not revealed."""
    is_blocked = (viewer.id, person.id) in list_blocks_between(viewer.id, [person.id])
    return {
        "is_blocked": is_blocked,
        "shared": [_shared(row) for row in list_shared_rows(viewer, person.id, limit=MAX_SHARED)],
        "start_url": "" if is_blocked else reverse("threads:start", args=[person.handle]),
        "report_url": _report_url(person),
    }


def _shared(row: Participant) -> dict[str, str]:
    at = timezone.localtime(keys.parse_iso(row.last_message_at))
    return {
        "url": reverse("threads:thread", args=[row.thread_id]),
        "subject": row.subject,
        "at": row.last_message_at,
        "at_label": row_label(at, timezone.localdate()),
    }


def _count_label(person: User) -> str:
    """The number of completed bookings, exact up to the limit."""
    count = count_completed_bookings(person, limit=MAX_COUNTED_BOOKINGS + 1)
    if not count:
        return ""
    shown = f"{MAX_COUNTED_BOOKINGS}+" if count > MAX_COUNTED_BOOKINGS else str(count)
    return f"{shown} completed booking{'' if count == 1 else 's'}"


def _report_url(person: User) -> str:
    """Empty if the moderation app, a higher layer, is not installed."""
    try:
        return reverse("moderation:report_person", args=[person.handle])
    except NoReverseMatch:
        return ""


@require_POST
@login_required
def block(request: AuthenticatedRequest, handle: str) -> HttpResponse:
    person = get_person(handle)
    block_person(request.user, blocked=person)
    messages.success(request, f"You blocked {person.display_name}. They won't be notified.")
    return redirect("people:profile", person.handle)


@require_POST
@login_required
def unblock(request: AuthenticatedRequest, handle: str) -> HttpResponse:
    person = get_person(handle)
    unblock_person(request.user, blocked=person)
    messages.success(request, f"You unblocked {person.display_name}.")
    return redirect("people:profile", person.handle)
