"""The profile page of a user."""

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import NoReverseMatch, reverse
from django.views.decorators.http import require_safe

from accounts.http import AuthenticatedRequest
from accounts.models import User
from accounts.queries import get_person
from core.time_zones import time_in


@require_safe
@login_required
def profile(request: AuthenticatedRequest, handle: str) -> HttpResponse:
    person = get_person(handle)
    is_me = person == request.user
    context = {
        "person": person,
        "is_me": is_me,
        "local_time": time_in(person.time_zone),
        "start_url": "" if is_me else reverse("threads:start", args=[person.handle]),
        "report_url": "" if is_me else _report_url(person),
    }
    return render(request, "people/profile.html", context)


def _report_url(person: User) -> str:
    """Empty if the moderation app, a higher layer, is not installed."""
    try:
        return reverse("moderation:report_person", args=[person.handle])
    except NoReverseMatch:
        return ""
