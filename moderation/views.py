"""The report forms and the list of a user's own reports."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from accounts.http import AuthenticatedRequest
from accounts.queries import get_person
from moderation.actions.reports import report_person, report_thread
from moderation.forms import ReportForm
from moderation.report_answers import list_reports, mark_answers_read
from threads import queries
from threads.rendering.messages import quote_text

THANKS = (
    "Thank you. Our safety team will review it. You'll find their answer in Settings, under Your "
    "reports. No one else will know you reported it."
)
allow_form_methods = require_http_methods(["GET", "HEAD", "POST"])


@allow_form_methods
@login_required
def thread(request: AuthenticatedRequest, thread_id: str) -> HttpResponse:
    cached = queries.access_participants(request.user, thread_id)
    others = [person.person["name"] for person in cached.others(request.user.id)]
    form = ReportForm(request.POST or None)
    back = reverse("threads:thread", args=[thread_id])
    if form.is_valid():
        report_thread(request.user, thread_id=thread_id, **form.cleaned_data)
        return _thank(request, back)
    return _render_form(request, form, back, what=f"the conversation with {', '.join(others)}")


@allow_form_methods
@login_required
def message(request: AuthenticatedRequest, thread_id: str, message_id: str) -> HttpResponse:
    reported = queries.get_message(request.user, thread_id, message_id)
    form = ReportForm(request.POST or None)
    back = reverse("threads:message", args=[thread_id, message_id])
    if form.is_valid():
        report_thread(request.user, thread_id=thread_id, message_id=message_id, **form.cleaned_data)
        return _thank(request, back)
    return _render_form(request, form, back, what="this message", quote=quote_text(reported))


@allow_form_methods
@login_required
def person(request: AuthenticatedRequest, handle: str) -> HttpResponse:
    reported = get_person(handle)
    form = ReportForm(request.POST or None)
    back = reverse("people:profile", args=[handle])
    if reported == request.user:
        return redirect(back)
    if form.is_valid():
        report_person(request.user, person=reported, **form.cleaned_data)
        return _thank(request, back)
    return _render_form(request, form, back, what=reported.display_name)


@require_safe
@login_required
def reports(request: AuthenticatedRequest) -> HttpResponse:
    """The user's own reports and their answers."""
    context = {"reports": list_reports(request.user)}
    mark_answers_read(request.user)
    return render(request, "moderation/reports.html", context)


def _render_form(
    request: AuthenticatedRequest, form: ReportForm, back: str, *, what: str, quote: str = ""
) -> HttpResponse:
    context = {"form": form, "what": what, "quote": quote, "back": back}
    status = 400 if form.is_bound else 200
    return render(request, "moderation/report.html", context, status=status)


def _thank(request: AuthenticatedRequest, back: str) -> HttpResponse:
    messages.success(request, THANKS)
    return redirect(back)
