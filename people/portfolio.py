"""Portfolios: up to 24 images on a profile, in an order that the owner chooses."""

from dataclasses import dataclass

from django.db import transaction
from django.urls import reverse

from accounts.models import User
from accounts.profiles.text import check_line, check_policy
from core.refusals import Refusal
from files.actions import Readable, accept_file, discard_file
from files.models import EXPLICIT, File
from people.models import PortfolioImage
from people.photos import lock_active_user
from threads.file_access import AccessibleFile
from threads.models.rate_buckets import take_token, upload_limits

MAX_IMAGES = 24


@dataclass(frozen=True)
class PortfolioView:
    """An image as templates/threads/picture.html and the lightbox show it."""

    id: str
    name: str
    detail: str
    band: int
    width: int
    height: int
    url: str

    @property
    def thumb_url(self) -> str:
        return f"{self.url}?size=thumb"

    @property
    def shown_url(self) -> str:
        """With this URL safe mode does not blur the image."""
        return f"{self.url}?show=1"

    @property
    def download_url(self) -> str:
        return f"{self.url}?download=1"


def list_portfolio(user: User) -> list[PortfolioView]:
    images = PortfolioImage.objects.filter(user=user).select_related("file")
    return [_view(image) for image in images[:MAX_IMAGES]]


def _view(image: PortfolioImage) -> PortfolioView:
    file = image.file
    return PortfolioView(
        id=file.id,
        name=image.caption,
        detail=f"{file.width} × {file.height}",
        band=file.band,
        width=file.width,
        height=file.height,
        url=reverse("people:portfolio_image", args=[file.id]),
    )


def access_image(viewer: User, file_id: str) -> AccessibleFile:
    """An image in the portfolio of an active user."""
    found = PortfolioImage.objects.filter(pk=file_id, user__is_active=True)
    image = found.select_related("file").first()
    if image is None:
        raise Refusal("PHOTO_NOT_FOUND")
    return AccessibleFile(image.file, image.file.band, viewer.safe_mode)


def check_caption(caption: str) -> None:
    """Raises a ValidationError. Captions are public, like the other texts of a profile."""
    check_line(caption)
    check_policy(caption)


def add_image(user: User, *, key: str, content: Readable, caption: str = "") -> PortfolioImage:
    """Adds an image at the end; a repeat with the same key returns the existing one."""
    check_caption(caption)
    existing = PortfolioImage.objects.filter(user=user, key=key).first()
    if existing is not None:
        return existing
    _check_count(user)
    take_token(user, upload_limits())
    file = accept_file(user, thread_id="", name="Portfolio", content=content, only_images=True)
    try:
        _check_band(file)
        image = _save_image(user, file, key, caption)
    except Refusal:
        discard_file(file)
        raise
    if image.file_id != file.id:
        discard_file(file)
    return image


def _check_count(user: User) -> None:
    if PortfolioImage.objects.filter(user=user).count() >= MAX_IMAGES:
        raise Refusal(
            "ACTION_INVALID_STATE",
            f"A portfolio can have up to {MAX_IMAGES} photos.",
            hint="Remove one to add another.",
        )


def _check_band(file: File) -> None:
    if file.band >= EXPLICIT:
        raise Refusal(
            "MSG_NSFW_BLOCKED",
            "Explicit photos can't be shown on a profile.",
            hint="Choose another photo.",
        )


@transaction.atomic
def _save_image(user: User, file: File, key: str, caption: str) -> PortfolioImage:
    """Returns the existing image if the same upload was stored concurrently."""
    lock_active_user(user)
    existing = PortfolioImage.objects.filter(user=user, key=key).first()
    if existing is not None:
        return existing
    _check_count(user)
    last = PortfolioImage.objects.filter(user=user).last()
    position = last.position + 1 if last else 0
    return PortfolioImage.objects.create(
        file=file, user=user, key=key, caption=caption, position=position
    )


def change_caption(user: User, *, file_id: str, caption: str) -> None:
    check_caption(caption)
    if not PortfolioImage.objects.filter(user=user, pk=file_id).update(caption=caption):
        raise Refusal("PHOTO_NOT_FOUND")


@transaction.atomic
def move_image(user: User, *, file_id: str, to: int) -> None:
    """Moves an image to an index, so that a repeat changes nothing."""
    lock_active_user(user)
    images = list(PortfolioImage.objects.filter(user=user))
    moved = next((image for image in images if image.pk == file_id), None)
    if moved is None:
        raise Refusal("PHOTO_NOT_FOUND")
    images.remove(moved)
    images.insert(max(0, to), moved)
    for position, image in enumerate(images):
        image.position = position
    PortfolioImage.objects.bulk_update(images, ["position"])


def clear_portfolio(user: User) -> None:
    """Removes all images, by staff."""
    for image in PortfolioImage.objects.filter(user=user):
        remove_image(user, file_id=image.pk)


def remove_image(user: User, *, file_id: str) -> None:
    """Deletes the image. A repeat changes nothing."""
    with transaction.atomic():
        lock_active_user(user)
        image = PortfolioImage.objects.filter(user=user, pk=file_id).select_related("file").first()
        if image is None:
            return
        file = image.file
        image.delete()
    discard_file(file)
