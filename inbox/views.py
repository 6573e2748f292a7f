import re

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from core.ids import is_id
from core.rate_limits import check_rate_limit
from inbox.actions import run_action
from inbox.forms import InboxActionForm
from inbox.queries import FIRST_PAGE_SIZE, PAGE_SIZE, count_rows, get_row
from inbox.rows import LABELS, folder_url, format_count, get_column, get_column_rows, row_of
from inbox.search.name_search import search_names
from inbox.search.query_parser import MAX_QUERY_CHARS
from inbox.search.query_parser import parse_query as read_question
from inbox.search.search import search
from threads.models.participant import INBOX

SHOWN = re.compile(r"\d{1,3}", re.ASCII)


class AuthenticatedRequest(HttpRequest):
    """Somebody who is signed in."""

    user: User


@require_safe
@login_required
def inbox(request: AuthenticatedRequest, folder: str = INBOX) -> HttpResponse:
    return _page(request, _known(folder))


@require_safe
@login_required
def rows(request: AuthenticatedRequest) -> HttpResponse:
    """The next rows of a folder: a fragment for a script, a page for everybody else."""
    folder, after = _known(request.GET.get("folder", INBOX)), request.GET.get("after", "")
    if not request.headers.get("X-Fragment"):
        return _page(request, folder, after)
    column = get_column_rows(request.user, folder, after=after, size=_size(request))
    return render(request, "inbox/rows.html", {"column": column})


def _size(request: AuthenticatedRequest) -> int:
    """As many as a page shows that looks what has changed in them; within what a page may have."""
    format_count = SHOWN.fullmatch(request.GET.get("shown", ""))
    return max(FIRST_PAGE_SIZE, min(PAGE_SIZE, int(format_count[0]))) if format_count else PAGE_SIZE


@require_safe
@login_required
def row(request: AuthenticatedRequest, thread_id: str) -> HttpResponse:
    """One row, for a page that was told of a conversation it does not have."""
    folder = _known(request.GET.get("folder", INBOX))
    participant = get_row(request.user, thread_id)
    return render(request, "inbox/row.html", {"row": row_of(request.user, participant, folder)})


@require_safe
@login_required
def counts(request: AuthenticatedRequest) -> HttpResponse:
    return JsonResponse(
        {key: format_count(count) for key, count in count_rows(request.user).items()}
    )


@require_safe
@login_required
def find(request: AuthenticatedRequest) -> HttpResponse:
    asked, thread_id = (
        request.GET.get("q", "").strip()[:MAX_QUERY_CHARS],
        request.GET.get("thread", ""),
    )
    if thread_id and not is_id("thrd", thread_id):
        raise Http404
    question = read_question(asked)
    if not question.is_empty:
        check_rate_limit("search", request.user.id)
    context = {
        "asked": asked,
        "unclear": question.unclear,
        "results": search(request.user, question, thread_id=thread_id),
        "is_of_one_thread": bool(thread_id),
        "has_heading": True,
    }
    return render(request, "inbox/search.html", context)


@require_safe
@login_required
def find_by_name(request: AuthenticatedRequest) -> HttpResponse:
    """A fragment: what a few letters find, for whoever is typing them."""
    asked = request.GET.get("q", "").strip()
    check_rate_limit("find", request.user.id)
    named = search_names(request.user, asked)
    return render(request, "inbox/named.html", {"asked": asked, "named": named})


@require_safe
@login_required
def keys(request: AuthenticatedRequest) -> HttpResponse:
    is_fragment = request.headers.get("X-Fragment")
    return render(request, "inbox/keys_dialog.html" if is_fragment else "inbox/keys.html")


@require_POST
@login_required
def act(request: AuthenticatedRequest) -> HttpResponse:
    """A script shows what was done, with a way back; without one, the page that one came from."""
    arguments = InboxActionForm.read(request.POST)
    outcome = run_action(request.user, **arguments)
    if request.headers.get("X-Fragment"):
        return JsonResponse({"said": outcome.said, "undo": outcome.undo})
    messages.success(request, f"{outcome.said}.")
    if request.POST.get("back") == "thread":
        return redirect("threads:thread", arguments["thread_ids"][0])
    return redirect(folder_url(_known(request.POST.get("back") or INBOX)))


def _page(request: AuthenticatedRequest, folder: str, after: str = "") -> HttpResponse:
    column = get_column(request.user, folder, after=after)
    return render(request, "inbox/inbox.html", {"column": column})


def _known(folder: str) -> str:
    if folder not in LABELS:
        raise Http404
    return folder
