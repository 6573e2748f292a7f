"""A file as a response. The caller has checked the permission."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.http import content_disposition_header

from files import storage
from files.models import File

# Nothing in the content can run, for any type a browser assumes, and no other site can embed it.
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    # Browsers may cache the file but must revalidate, so that permissions are checked each time.
    "Cache-Control": "private, no-cache",
}


def serve(request: HttpRequest, file: File, variant: str, *, as_download: bool) -> HttpResponse:
    # Only images, which we encoded ourselves, are displayed inline.
    as_attachment = as_download or file.kind != File.Kind.IMAGE
    disposition = content_disposition_header(as_attachment, file.name) or "inline"
    kind = (
        f"{file.content_type}; charset=utf-8" if file.kind == File.Kind.TEXT else file.content_type
    )
    link = storage.signed_url(file.path(variant), disposition=disposition, content_type=kind)
    if link:
        # Not cached: the signed URL expires after a minute.
        return HttpResponseRedirect(link, headers={"Cache-Control": "no-store"})
    etag = f'"{file.id}-{variant}"'
    headers = HEADERS | {"ETag": etag, "Content-Disposition": disposition}
    if request.headers.get("If-None-Match") == etag:
        return HttpResponse(status=304, headers=headers)
    with storage.open_file(file, variant) as kept:
        return HttpResponse(kept.read(), content_type=kind, headers=headers)
