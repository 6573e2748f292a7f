"""Uploading and downloading files. Every download checks who may see the file."""

from django.contrib.auth.decorators import login_required
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_POST, require_safe

from accounts.http import AuthenticatedRequest
from accounts.models import User
from core.refusals import Refusal
from files.models import FULL, THUMB, File
from files.names import clean_line
from threads import cache
from threads.actions.uploads import upload_file
from threads.file_access import access_file
from threads.forms import MAX_ATTACHMENTS
from threads.permissions import check_can_write
from threads.rendering.attachments import describe
from threads.views.file_response import serve


@require_POST
@login_required
def upload(request: AuthenticatedRequest, thread_id: str) -> HttpResponse:
    """One file for a later message. Responds with the description to send in that message."""
    uploaded = request.FILES.get("file")
    if uploaded is None:
        check_can_write(cache.reload(thread_id), request.user.id)
        raise Refusal("BAD_FRAME")
    name = uploaded.name or ""
    file = upload_file(request.user, thread_id=thread_id, name=name, content=uploaded)
    return JsonResponse(describe(file), status=201)


def upload_files(request: HttpRequest, thread_id: str) -> list[str]:
    """Files posted with the message form, by a page without scripts."""
    uploaded = request.FILES.getlist("files")
    if not uploaded:
        return []
    user: User = request.user  # type: ignore[assignment]
    return [_upload(user, thread_id, one) for one in uploaded[:MAX_ATTACHMENTS]]


def _upload(user: User, thread_id: str, uploaded: UploadedFile) -> str:
    name = uploaded.name or ""
    try:
        return upload_file(user, thread_id=thread_id, name=name, content=uploaded).id
    except Refusal as refusal:
        # Names the file, since there may be several.
        message = f"{clean_line(name)}: {refusal.message}"
        wait = refusal.retry_after
        raise Refusal(refusal.code, message, hint=refusal.hint, retry_after=wait) from refusal


@require_safe
@login_required
def file(request: AuthenticatedRequest, file_id: str) -> HttpResponse:
    accessible = access_file(request.user, file_id)
    file = accessible.file
    wanted = THUMB if request.GET.get("size") == THUMB and file.kind == File.Kind.IMAGE else FULL
    variant = accessible.choose_variant(wanted, is_revealed="show" in request.GET)
    return serve(request, file, variant, as_download="download" in request.GET)
