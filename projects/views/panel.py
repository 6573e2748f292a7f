"""The panel as a page, edits of its tabs, and proofs."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST

from accounts.http import AuthenticatedRequest
from core.pages import render_page
from core.refusals import Refusal
from projects.actions.panel import check_has_panel, edit_tab
from projects.actions.proofs import add_proofs, check_can_add_proofs, remove_proof
from projects.forms import AddProofs, EditTab
from threads import queries
from threads.models.tab import TAB_NAMES
from threads.views.files import upload_files
from threads.views.thread_page import read_with_sidebar, render_thread, thread_page


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def tab(request: AuthenticatedRequest, thread_id: str, tab: str) -> HttpResponse:
    if tab not in TAB_NAMES:
        raise Refusal("THREAD_NOT_FOUND")
    if request.method == "POST":
        return _edit(request, thread_id, tab)
    return _show(request, thread_id, tab)


def _show(
    request: AuthenticatedRequest, thread_id: str, tab: str, refusal: Any = None
) -> HttpResponse:
    opened, sidebar = read_with_sidebar(
        request, thread_id, lambda: queries.open_thread(request.user, thread_id)
    )
    check_has_panel(opened.cached, request.user.id)
    context = thread_page(request.user, opened, current_tab=tab, at_panel=True) | sidebar
    if refusal is None:
        return render_thread(request, context)
    described = refusal.as_dict(request.corr_id)
    has_both = refusal.code == "PANEL_VERSION_CONFLICT"
    context["panel"] |= {"refusal": described, "conflict": described if has_both else None}
    return render_page(request, "threads/thread.html", context, status=refusal.status)


def _edit(request: AuthenticatedRequest, thread_id: str, tab: str) -> HttpResponse:
    """Returns the new version or the refusal to a script, and the current tab to a form."""
    arguments = EditTab.parse({**request.POST.dict(), "thread": thread_id, "tab": tab})
    by_script = _is_script(request)
    try:
        version = _edit_with_files(request, arguments)
    except Refusal as refusal:
        if by_script or refusal.status == 404:
            raise
        return _show(request, thread_id, tab, refusal)
    if by_script:
        return JsonResponse({"version": version})
    return redirect("projects:panel_tab", thread_id, tab)


def _is_script(request: AuthenticatedRequest) -> bool:
    return "application/json" in request.headers.get("Accept", "")


def _edit_with_files(request: AuthenticatedRequest, arguments: dict[str, Any]) -> int:
    """Also pins the images uploaded with a form, which is how it works without a script."""
    if arguments["tab"] != "moodboard" or not request.FILES:
        return edit_tab(request.user, **arguments)
    version = 0
    for file_id in upload_files(request, arguments["thread_id"]):
        version = edit_tab(request.user, **arguments | {"picture": file_id})
    return version


@require_POST
@login_required
def proofs(request: AuthenticatedRequest, thread_id: str) -> HttpResponse:
    by_script = _is_script(request)
    check_can_add_proofs(request.user, thread_id)
    brought = upload_files(request, thread_id)
    file_ids = " ".join(brought) or request.POST.get("file_ids", "")
    add_proofs(request.user, **AddProofs.parse({"thread": thread_id, "file_ids": file_ids}))
    return JsonResponse({}) if by_script else redirect("projects:panel_tab", thread_id, "files")


@require_POST
@login_required
def proof_remove(request: AuthenticatedRequest, thread_id: str, file_id: str) -> HttpResponse:
    remove_proof(request.user, thread_id=thread_id, file_id=file_id)
    by_script = _is_script(request)
    return JsonResponse({}) if by_script else redirect("projects:panel_tab", thread_id, "files")
