from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.models import User
from inbox.queries import FOLDERS, get_row
from inbox.rows import column_of, row_of
from threads.models.participant import INBOX


class Request(HttpRequest):
    """Somebody who is signed in."""

    user: User


@require_safe
@login_required
def inbox(request: Request, folder: str = INBOX) -> HttpResponse:
    return render(request, "inbox/inbox.html", {"folder": _known(folder)})


@require_safe
@login_required
def rows(request: Request) -> HttpResponse:
    """The next rows of a folder: a fragment for a script, a page for everybody else."""
    folder = _known(request.GET.get("folder", INBOX))
    column = column_of(request.user, folder, after=request.GET.get("after", ""))
    template = "inbox/rows.html" if request.headers.get("X-Fragment") else "inbox/inbox.html"
    return render(request, template, {"folder": folder, "column": column})


@require_safe
@login_required
def row(request: Request, thread_id: str) -> HttpResponse:
    """One row, for a page that was told of a conversation it does not have."""
    participant = get_row(request.user, thread_id)
    return render(request, "inbox/row.html", {"row": row_of(request.user, participant)})


def _known(folder: str) -> str:
    if folder not in FOLDERS:
        raise Http404
    return folder
