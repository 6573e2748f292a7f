"""Profile photos: setting, removing and viewing them."""

from django.db import transaction
from django.urls import reverse

from accounts.models import User, add_profile_entry
from core.refusals import Refusal
from files.actions import Readable, accept_photo, discard_file
from files.models import SUGGESTIVE, File
from people.models import Photo
from threads.models.rate_buckets import take_token, upload_limits

# Which part of a photo that is not square is kept, as fractions of its width and height.
POSITIONS = {"centre": (0.5, 0.5), "start": (0.0, 0.0), "end": (1.0, 1.0)}


def set_photo(user: User, *, content: Readable, position: str = "centre") -> None:
    """Replaces the photo. Suggestive ones are refused: photos are never blurred."""
    take_token(user, upload_limits())
    file = accept_photo(user, content=content, centering=POSITIONS[position])
    try:
        _check_band(file)
        before = _save_photo(user, file)
    except Refusal:
        discard_file(file)
        raise
    if before is not None:
        discard_file(before)


def _check_band(file: File) -> None:
    if file.band >= SUGGESTIVE:
        raise Refusal(
            "MSG_NSFW_BLOCKED",
            "Profile photos can't be suggestive or explicit.",
            hint="Choose another photo.",
        )


@transaction.atomic
def _save_photo(user: User, file: File) -> File | None:
    """Returns the file of the previous photo."""
    lock_active_user(user)
    before = Photo.objects.filter(user=user).select_related("file").first()
    Photo.objects.update_or_create(user=user, defaults={"file": file})
    _set_avatar(user, photo_url(file.id))
    return before.file if before else None


def remove_photo(user: User) -> None:
    """Initials are shown instead."""
    with transaction.atomic():
        lock_active_user(user)
        photo = Photo.objects.filter(user=user).select_related("file").first()
        if photo is None:
            return
        photo.delete()
        _set_avatar(user, "")
    discard_file(photo.file)


def lock_active_user(user: User) -> None:
    """Serialises changes to a profile, also with the deletion of the account."""
    if not User.objects.select_for_update().filter(pk=user.pk, is_active=True).exists():
        raise Refusal("ACCOUNT_SUSPENDED")


def _set_avatar(user: User, url: str) -> None:
    User.objects.filter(pk=user.pk).update(avatar=url)
    add_profile_entry(user)


def photo_url(file_id: str) -> str:
    """Short, since every participant item has a copy; another photo has another URL."""
    return reverse("people:photo", args=[file_id])


def access_photo(file_id: str) -> File:
    """The current photo of an active user. A replaced photo does not exist any more."""
    found = Photo.objects.filter(file_id=file_id, user__is_active=True)
    photo = found.select_related("file").first()
    if photo is None:
        raise Refusal("PHOTO_NOT_FOUND")
    return photo.file
