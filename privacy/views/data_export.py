"""The page "Your data": taking it along, and deleting the account."""

from collections.abc import AsyncIterator
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, HttpResponseBase, HttpResponseRedirect, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.http import content_disposition_header
from django.utils.text import slugify
from django.views.decorators.http import require_POST, require_safe

from files.exports import access_export, list_exports, request_export
from files.storage import get_storage, signed_url
from threads import queries
from threads.models.packs import allow_placeholders
from threads.views.threads import AuthenticatedRequest

ZIP = "application/zip"
CHUNK = 1 << 18


@require_safe
@login_required
def data(request: AuthenticatedRequest) -> HttpResponse:
    return render(request, "privacy/data.html", {"exports": list_exports(request.user)})


@require_POST
@login_required
def export_everything(request: AuthenticatedRequest) -> HttpResponse:
    request_export(request.user, about="All your data")
    return _see_it_come(request)


@require_POST
@login_required
def export_thread(request: AuthenticatedRequest, thread_id: str) -> HttpResponse:
    with allow_placeholders():
        thread = queries.open_thread(request.user, thread_id).cached.thread
    request_export(request.user, thread_id=thread_id, about=thread.subject[:200])
    return _see_it_come(request)


def _see_it_come(request: AuthenticatedRequest) -> HttpResponse:
    messages.success(request, "We are putting it together. It appears here when it is ready.")
    return redirect("privacy:data")


@require_safe
@login_required
def export(request: AuthenticatedRequest, export_id: str) -> HttpResponseBase:
    """Whoever asked for it, and nobody else, however the address came to them."""
    found = access_export(request.user, export_id)
    name = f"parley-{slugify(found.about)[:60] or 'export'}.zip"
    disposition = content_disposition_header(True, name) or "attachment"
    link = signed_url(found.path, disposition=disposition, content_type=ZIP)
    if link:
        return HttpResponseRedirect(link, headers={"Cache-Control": "no-store"})
    headers = {
        "Content-Disposition": disposition,
        "Content-Length": str(found.size),
        "Cache-Control": "private, no-store",
        "X-Content-Type-Options": "nosniff",
    }
    content: Any = get_storage().open(found.path)
    return StreamingHttpResponse(_chunks(content), content_type=ZIP, headers=headers)


async def _chunks(content: Any) -> AsyncIterator[bytes]:
    """Bit by bit, however large it is: a plain iterator would be read whole first."""
    read = sync_to_async(content.read, thread_sensitive=False)
    try:
        while chunk := await read(CHUNK):
            yield chunk
    finally:
        content.close()
