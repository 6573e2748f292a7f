"""Profile photos: the image itself, and the page to change it."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.http import AuthenticatedRequest
from core.refusals import Refusal
from files import storage
from files.models import SQUARES
from people.photos import access_photo, remove_photo, set_photo
from people.upload_forms import PhotoForm
from people.views.uploads import submit
from threads.views.file_response import HEADERS

DEFAULT_SIZE = "128"
# The content at a URL never changes. A week limits how long a browser shows the photo of a user
# who was suspended.
CACHE_CONTROL = "private, max-age=604800, immutable"


@require_safe
@login_required
def photo(request: AuthenticatedRequest, file_id: str) -> HttpResponse:
    """Sent by the server with any storage: a redirect to a signed URL could not be cached."""
    file = access_photo(file_id)
    size = request.GET.get("size", DEFAULT_SIZE)
    try:
        with storage.open_file(file, size if size in SQUARES else DEFAULT_SIZE) as kept:
            content = kept.read()
    except FileNotFoundError as error:  # Replaced just now.
        raise Refusal("PHOTO_NOT_FOUND") from error
    headers = HEADERS | {"Cache-Control": CACHE_CONTROL}
    return HttpResponse(content, content_type=file.content_type, headers=headers)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def edit(request: AuthenticatedRequest) -> HttpResponse:
    form, status = PhotoForm(), 200
    if request.method == "POST":
        form = PhotoForm(request.POST, request.FILES)
        status = submit(form, "photo", lambda: save_photo(request, form))
        if not status:
            messages.success(request, "Your photo has been saved.")
            return redirect("people:edit_photo")
    return render(request, "people/photo.html", {"form": form}, status=status)


def save_photo(request: AuthenticatedRequest, form: PhotoForm) -> None:
    data = form.cleaned_data
    set_photo(request.user, content=data["photo"], position=data["position"])


@require_POST
@login_required
def remove(request: AuthenticatedRequest) -> HttpResponse:
    remove_photo(request.user)
    messages.success(request, "Your photo has been removed.")
    return redirect("people:edit_photo")
