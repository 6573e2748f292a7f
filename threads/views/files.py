"""Bringing a file, and getting one. Who may, and what of it, is asked anew on every GET."""

from django.contrib.auth.decorators import login_required
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from core.refusals import Refusal
from files.models import FULL, THUMB, File
from files.names import clean_line
from threads import cache
from threads.actions.messages import check_can_write
from threads.actions.uploads import upload_file
from threads.file_access import access_file
from threads.forms import MAX_ATTACHMENTS
from threads.rendering.attachments import describe
from threads.views.file_response import serve


class AuthenticatedRequest(HttpRequest):
    """Somebody who is signed in."""

    user: User


@require_POST
@login_required
def upload(request: AuthenticatedRequest, thread_id: str) -> HttpResponse:
    """One file for a message to come; the answer is what the message will say of it."""
    came = request.FILES.get("file")
    if came is None:
        check_can_write(cache.reload(thread_id), request.user.id)
        raise Refusal("BAD_FRAME")
    name = came.name or ""
    file = upload_file(request.user, thread_id=thread_id, name=name, content=came)
    return JsonResponse(describe(file), status=201)


def upload_files(request: HttpRequest, thread_id: str) -> list[str]:
    """Those that came with the form of a message, where no script brought them before."""
    came = request.FILES.getlist("files")
    if not came:
        return []
    user: User = request.user  # type: ignore[assignment]
    return [_bring(user, thread_id, one) for one in came[:MAX_ATTACHMENTS]]


def _bring(user: User, thread_id: str, came: UploadedFile) -> str:
    name = came.name or ""
    try:
        return upload_file(user, thread_id=thread_id, name=name, content=came).id
    except Refusal as refusal:
        # There are several: say which.
        called = clean_line(name)
        said = f"{called}: {refusal.message}"
        wait = refusal.retry_after
        raise Refusal(refusal.code, said, hint=refusal.hint, retry_after=wait) from refusal


@require_safe
@login_required
def file(request: AuthenticatedRequest, file_id: str) -> HttpResponse:
    shown = access_file(request.user, file_id)
    file = shown.file
    wanted = THUMB if request.GET.get("size") == THUMB and file.kind == File.Kind.IMAGE else FULL
    variant = shown.choose_variant(wanted, is_revealed="show" in request.GET)
    return serve(request, file, variant, to_be_saved="download" in request.GET)
