"""Pages of the inbox: folders, search, keyboard shortcuts, and actions on rows."""

import re
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from accounts.http import AuthenticatedRequest
from accounts.models import User
from core.ids import is_id
from core.pages import render_cacheable_page
from core.rate_limits import check_rate_limit
from inbox.actions import run_action
from inbox.forms import InboxActionForm
from inbox.queries import FIRST_PAGE_SIZE, PAGE_SIZE, WAITING, count_rows, get_row
from inbox.rows import LABELS, folder_url, format_count, get_column, get_column_rows, row_of
from inbox.search.name_search import search_names
from inbox.search.query_parser import MAX_QUERY_CHARS, parse_query
from inbox.search.search import search
from threads.models.participant import INBOX

# Filters that were renamed; links and bookmarks still work.
EARLIER_KEYS = {"action-required": WAITING}
SHOWN = re.compile(r"\d{1,3}", re.ASCII)


@require_safe
@login_required
def inbox(request: AuthenticatedRequest, folder: str = INBOX) -> HttpResponse:
    return _render_inbox(request, _check_folder(folder))


@require_safe
@login_required
def rows(request: AuthenticatedRequest) -> HttpResponse:
    """The next rows of a folder. Scripts get a fragment, other clients a page."""
    folder, after = _check_folder(request.GET.get("folder", INBOX)), request.GET.get("after", "")
    if not request.headers.get("X-Fragment"):
        return _render_inbox(request, folder, after)
    column = get_column_rows(request.user, folder, after=after, size=_size(request))
    return render_cacheable_page(request, "inbox/rows.html", {"column": column})


def _size(request: AuthenticatedRequest) -> int:
    """A page that refreshes its rows requests as many as it shows, within the limits of a page."""
    shown = SHOWN.fullmatch(request.GET.get("shown", ""))
    return max(FIRST_PAGE_SIZE, min(PAGE_SIZE, int(shown[0]))) if shown else PAGE_SIZE


@require_safe
@login_required
def row(request: AuthenticatedRequest, thread_id: str) -> HttpResponse:
    """One row, for a page that received an event of a thread it does not show yet."""
    folder = _check_folder(request.GET.get("folder", INBOX))
    participant = get_row(request.user, thread_id)
    return HttpResponse(row_of(request.user, participant, folder).html)


@require_safe
@login_required
def counts(request: AuthenticatedRequest) -> HttpResponse:
    counted = count_rows(request.user)
    return JsonResponse({key: format_count(count) for key, count in counted.items()})


@require_safe
@login_required
def find(request: AuthenticatedRequest) -> HttpResponse:
    text = request.GET.get("q", "").strip()[:MAX_QUERY_CHARS]
    thread_id = request.GET.get("thread", "")
    if thread_id and not is_id("thrd", thread_id):
        raise Http404
    query = parse_query(text)
    if not query.is_empty:
        check_rate_limit("search", request.user.id)
    context = {
        "query": text,
        "ignored_filters": query.ignored_filters,
        "results": search(request.user, query, thread_id=thread_id),
        "is_of_one_thread": bool(thread_id),
        "has_heading": True,
    }
    return render(request, "inbox/search.html", context | sidebar_context(request))


@require_safe
@login_required
def find_by_name(request: AuthenticatedRequest) -> HttpResponse:
    """The suggestions of the finder, as a fragment."""
    text = request.GET.get("q", "").strip()
    check_rate_limit("find", request.user.id)
    matches = search_names(request.user, text)
    return render(request, "inbox/name_matches.html", {"query": text, "matches": matches})


@require_safe
@login_required
def keys(request: AuthenticatedRequest) -> HttpResponse:
    if request.headers.get("X-Fragment"):
        return render(request, "inbox/keys_dialog.html")
    return render(request, "inbox/keys.html", sidebar_context(request))


@require_POST
@login_required
def act(request: AuthenticatedRequest) -> HttpResponse:
    """Scripts get the result with what undoes it; other clients return to the previous page."""
    arguments = InboxActionForm.parse(request.POST)
    result = run_action(request.user, **arguments)
    if request.headers.get("X-Fragment"):
        return JsonResponse({"said": result.message, "undo": result.undo})
    messages.success(request, f"{result.message}.")
    if request.POST.get("back") == "thread":
        return redirect("threads:thread", arguments["thread_ids"][0])
    return redirect(folder_url(_check_folder(request.POST.get("back") or INBOX)))


def sidebar_context(request: HttpRequest, thread_id: str = "") -> dict[str, Any]:
    """The folder from which the page was opened, for pages that show it beside their content. On
    a narrow screen, which static/inbox/column.js reports, it is hidden beside a thread."""
    user: User = request.user  # type: ignore[assignment]
    if thread_id and request.COOKIES.get("layout") == "narrow":
        return {"column": None}
    folder = request.GET.get("in", INBOX)
    folder = EARLIER_KEYS.get(folder, folder)
    folder = folder if folder in LABELS else INBOX
    return {"column": get_column(user, folder, current=thread_id)}


def _render_inbox(request: AuthenticatedRequest, folder: str, after: str = "") -> HttpResponse:
    column = get_column(request.user, folder, after=after)
    return render_cacheable_page(request, "inbox/inbox.html", {"column": column})


def _check_folder(folder: str) -> str:
    folder = EARLIER_KEYS.get(folder, folder)
    if folder not in LABELS:
        raise Http404
    return folder
