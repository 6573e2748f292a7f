"""The calendar page: a month with bookings, blocks and busy times, and its settings."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from accounts.http import AuthenticatedRequest
from availability import actions
from availability.forms import BlockForm, FeedForm
from availability.models import BookingsLink, CalendarFeed
from availability.month import get_month, parse_month
from core.refusals import Refusal
from core.time_zones import time_in, zone_of

# The token of a new link, until the page that shows it once.
TOKEN_IN_SESSION = "bookings_link_token"


@require_safe
@login_required
def calendar(request: AuthenticatedRequest) -> HttpResponse:
    return _page(request)


def _page(request: AuthenticatedRequest, status: int = 200, **extra: Any) -> HttpResponse:
    user = request.user
    zone = zone_of(user.time_zone)
    first = parse_month(_month_text(request), time_in(user.time_zone).date())
    token = request.session.pop(TOKEN_IN_SESSION, "")
    context = {
        "month": get_month(user, first, zone),
        "feeds": _list_feeds(request),
        "max_feeds": actions.MAX_FEEDS,
        "link": BookingsLink.objects.filter(user=user).first(),
        "new_link": _link_url(request, token) if token else "",
        "block_form": BlockForm(zone=zone),
        "feed_form": FeedForm(),
        **extra,
    }
    response = render(request, "availability/calendar.html", context, status=status)
    response["Cache-Control"] = "private, no-store"
    return response


def _month_text(request: AuthenticatedRequest) -> str:
    return str(request.POST.get("month") or request.GET.get("month") or "")


def _list_feeds(request: AuthenticatedRequest) -> list[dict[str, Any]]:
    feeds = CalendarFeed.objects.filter(user=request.user).order_by("created_at", "pk")
    return [
        {"feed": feed, "host": urlsplit(feed.url).hostname, "count": feed.busy_count}
        for feed in feeds.annotate(busy_count=Count("busy_times"))
    ]


def _link_url(request: AuthenticatedRequest, token: str) -> str:
    return request.build_absolute_uri(reverse("availability:bookings", args=[token]))


@require_POST
@login_required
def add_block(request: AuthenticatedRequest) -> HttpResponse:
    form = BlockForm(request.POST, zone=zone_of(request.user.time_zone))
    if not form.is_valid():
        return _page(request, status=400, block_form=form)
    return _run(
        request,
        lambda: actions.add_block(request.user, **form.arguments()),
        "The time is blocked.",
        block_form=form,
    )


@require_POST
@login_required
def remove_block(request: AuthenticatedRequest, block_id: str) -> HttpResponse:
    return _run(
        request,
        lambda: actions.remove_block(request.user, block_id=block_id),
        "The block was removed.",
    )


@require_POST
@login_required
def add_feed(request: AuthenticatedRequest) -> HttpResponse:
    form = FeedForm(request.POST)
    if not form.is_valid():
        return _page(request, status=400, feed_form=form)
    return _run(
        request,
        lambda: actions.add_feed(request.user, **form.cleaned_data),
        "The calendar was added. Its busy times appear in a few seconds.",
        feed_form=form,
    )


@require_POST
@login_required
def refresh_feed(request: AuthenticatedRequest, feed_id: str) -> HttpResponse:
    return _run(
        request,
        lambda: actions.refresh_feed(request.user, feed_id=feed_id),
        "The calendar is being updated. Reload the page in a few seconds.",
    )


@require_POST
@login_required
def remove_feed(request: AuthenticatedRequest, feed_id: str) -> HttpResponse:
    return _run(
        request,
        lambda: actions.remove_feed(request.user, feed_id=feed_id),
        "The calendar and its busy times were removed.",
    )


@require_POST
@login_required
def create_link(request: AuthenticatedRequest) -> HttpResponse:
    def create() -> None:
        request.session[TOKEN_IN_SESSION] = actions.create_link(request.user)

    return _run(request, create, "")


@require_POST
@login_required
def remove_link(request: AuthenticatedRequest) -> HttpResponse:
    return _run(request, lambda: actions.remove_link(request.user), "The link no longer works.")


def _run(
    request: AuthenticatedRequest, action: Callable[[], object], done: str, **forms: Any
) -> HttpResponse:
    """Runs an action and returns to the month; a refusal is shown on the page."""
    try:
        action()
    except Refusal as refusal:
        if refusal.status == 404:
            raise
        shown = {"refusal": refusal.as_dict(request.corr_id)}
        return _page(request, status=refusal.status, **shown, **forms)
    if done:
        messages.success(request, done)
    first = parse_month(_month_text(request), time_in(request.user.time_zone).date())
    return redirect(f"{reverse('availability:calendar')}?month={first:%Y-%m}")
