"""The portfolio: its images, and the page on which the owner edits it."""

from uuid import uuid4

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.http import AuthenticatedRequest
from core.refusals import Refusal
from files.models import FULL, THUMB
from files.names import clean_line
from people.models.photos import MAX_CAPTION_CHARS
from people.portfolio import (
    MAX_IMAGES,
    access_image,
    add_image,
    change_caption,
    list_portfolio,
    move_image,
    remove_image,
)
from people.upload_forms import IMAGE_TYPES, CaptionForm, MoveForm
from threads.views.file_response import serve

MAX_KEY_CHARS = 36


@require_safe
@login_required
def image(request: AuthenticatedRequest, file_id: str) -> HttpResponse:
    accessible = access_image(request.user, file_id)
    wanted = THUMB if request.GET.get("size") == THUMB else FULL
    variant = accessible.choose_variant(wanted, is_revealed="show" in request.GET)
    return serve(request, accessible.file, variant, as_download="download" in request.GET)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def edit(request: AuthenticatedRequest) -> HttpResponse:
    """A POST adds the uploaded images."""
    if request.method == "POST":
        _add_images(request)
        return redirect("people:edit_portfolio")
    return _render_page(request)


def _render_page(
    request: AuthenticatedRequest, *, wrong_id: str = "", form: CaptionForm | None = None
) -> HttpResponse:
    """`form` has the errors of the caption of one image."""
    context = {
        "portfolio": list_portfolio(request.user),
        "max_images": MAX_IMAGES,
        "max_caption": MAX_CAPTION_CHARS,
        "accept": IMAGE_TYPES,
        "key": uuid4(),
        "wrong_id": wrong_id,
        "wrong": form,
    }
    status = 400 if form else 200
    return render(request, "people/edit_portfolio.html", context, status=status)


def _add_images(request: AuthenticatedRequest) -> None:
    """Adds as many as possible and says which were refused, and why."""
    uploads = request.FILES.getlist("photos")[:MAX_IMAGES]
    key, added = request.POST.get("key", "")[:MAX_KEY_CHARS], 0
    for number, upload in enumerate(uploads):
        try:
            add_image(request.user, key=f"{key}-{number}", content=upload)
            added += 1
        except Refusal as refusal:
            name = clean_line(upload.name or "")
            messages.error(request, f"{name}: {refusal.message} {refusal.hint}")
    if added:
        text = "Your photo has been added." if added == 1 else f"{added} photos have been added."
        messages.success(request, text)
    elif not uploads:
        messages.error(request, "Choose one or more photos first.")


@require_POST
@login_required
def caption(request: AuthenticatedRequest, file_id: str) -> HttpResponse:
    form = CaptionForm(request.POST)
    if not form.is_valid():
        return _render_page(request, wrong_id=file_id, form=form)
    change_caption(request.user, file_id=file_id, caption=form.cleaned_data["caption"])
    messages.success(request, "The caption has been saved.")
    return _redirect_to(file_id)


@require_POST
@login_required
def move(request: AuthenticatedRequest, file_id: str) -> HttpResponse:
    form = MoveForm(request.POST)
    if not form.is_valid():
        raise Refusal("BAD_FRAME")
    move_image(request.user, file_id=file_id, to=form.cleaned_data["to"])
    return _redirect_to(file_id)


@require_POST
@login_required
def remove(request: AuthenticatedRequest, file_id: str) -> HttpResponse:
    remove_image(request.user, file_id=file_id)
    messages.success(request, "The photo has been removed.")
    return redirect("people:edit_portfolio")


def _redirect_to(file_id: str) -> HttpResponse:
    """Back to the same image of the page."""
    return redirect(f"{reverse('people:edit_portfolio')}#{file_id}")
