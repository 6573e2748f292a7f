"""A file as an answer. Who may have it was asked before."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.http import content_disposition_header

from files import storage
from files.models import File

# Whatever the bytes are taken for, nothing in them runs, and no other site gets to use them.
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    # A browser may keep them, and has to ask each time whether it may still show them.
    "Cache-Control": "private, no-cache",
}


def serve(request: HttpRequest, file: File, variant: str, *, to_be_saved: bool) -> HttpResponse:
    # Only pictures, which we made ourselves, are shown in the page.
    as_attachment = to_be_saved or file.kind != File.Kind.IMAGE
    disposition = content_disposition_header(as_attachment, file.name) or "inline"
    kind = (
        f"{file.content_type}; charset=utf-8" if file.kind == File.Kind.TEXT else file.content_type
    )
    link = storage.signed_url(file.path(variant), disposition=disposition, content_type=kind)
    if link:
        # Not kept: a minute later it leads nowhere.
        return HttpResponseRedirect(link, headers={"Cache-Control": "no-store"})
    mark = f'"{file.id}-{variant}"'
    headers = HEADERS | {"ETag": mark, "Content-Disposition": disposition}
    if request.headers.get("If-None-Match") == mark:
        return HttpResponse(status=304, headers=headers)
    with storage.open_file(file, variant) as kept:
        return HttpResponse(kept.read(), content_type=kind, headers=headers)
