"""The panel as a page of its own, and edits of the tabs that people write."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from accounts.refusals import Refusal
from threads import queries
from threads.actions.panel import check_has_panel, edit_tab
from threads.booking_forms import EditTab
from threads.models.tab import TAB_NAMES
from threads.pages import thread_page
from threads.views import Request


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def tab(request: Request, thread_id: str, tab: str) -> HttpResponse:
    if tab not in TAB_NAMES:
        raise Refusal("THREAD_NOT_FOUND")
    if request.method == "POST":
        return _edit(request, thread_id, tab)
    return _show(request, thread_id, tab)


def _show(request: Request, thread_id: str, tab: str, refusal: Any = None) -> HttpResponse:
    opened = queries.open_thread(request.user, thread_id)
    check_has_panel(opened.state, request.user.id)
    context = thread_page(request.user, opened, current_tab=tab, at_panel=True)
    if refusal is not None:
        described = refusal.described(request.corr_id)
        has_both = refusal.code == "PANEL_VERSION_CONFLICT"
        context["panel"] |= {"refusal": described, "conflict": described if has_both else None}
    status = refusal.status if refusal else 200
    return render(request, "threads/thread.html", context, status=status)


def _edit(request: Request, thread_id: str, tab: str) -> HttpResponse:
    """For a script the version that it made, or why not; for a form the tab as it is now."""
    arguments = EditTab.read({**request.POST.dict(), "thread": thread_id, "tab": tab})
    by_script = "application/json" in request.headers.get("Accept", "")
    try:
        version = edit_tab(request.user, **arguments)
    except Refusal as refusal:
        if by_script or refusal.status == 404:
            raise
        return _show(request, thread_id, tab, refusal)
    if by_script:
        return JsonResponse({"version": version})
    return redirect("threads:panel_tab", thread_id, tab)
