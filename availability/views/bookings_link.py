"""The calendar of a user's bookings, for calendar programs that cannot sign in."""

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from accounts.sign_in.lockout import client_address
from availability.actions import hash_token
from availability.models import BookingsLink
from contracts.calendar import calendar_of_user
from core.rate_limits import check_rate_limit
from core.refusals import Refusal

THREAD_ID_SAMPLE = "thrd_00000000000000000000000000"
MAX_TOKEN_CHARS = 64


@require_safe
def bookings(request: HttpRequest, token: str) -> HttpResponse:
    """An unknown, replaced or removed link does not exist."""
    check_rate_limit("calendar_link", client_address(request) or "unknown")
    if len(token) > MAX_TOKEN_CHARS:
        raise Refusal("CALENDAR_NOT_FOUND")
    hashed = hash_token(token)
    check_rate_limit("calendar_link", hashed)
    found = BookingsLink.objects.filter(token_hash=hashed, user__is_active=True)
    link = found.select_related("user").first()
    if link is None:
        raise Refusal("CALENDAR_NOT_FOUND")
    path = reverse("threads:thread", args=[THREAD_ID_SAMPLE]).replace(THREAD_ID_SAMPLE, "{}")
    content = calendar_of_user(link.user, thread_url=request.build_absolute_uri("/")[:-1] + path)
    response = HttpResponse(content, content_type="text/calendar; charset=utf-8")
    response["Content-Disposition"] = 'inline; filename="parley-bookings.ics"'
    response["Cache-Control"] = "private, no-cache"
    response["X-Robots-Tag"] = "noindex"
    return response
