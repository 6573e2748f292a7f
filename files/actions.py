"""Accepting uploads, binding them to messages, releasing and deleting them."""

import hashlib
import tempfile
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Protocol

import structlog
from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.models import User
from core.refusals import Refusal
from files import storage
from files.file_types import IMAGE, FileType, detect_file_type
from files.models import File, FileUse
from files.names import clean_name
from files.queries import list_unused
from files.scanners import Sample, list_scanners

log = structlog.get_logger(__name__)
CHUNK_BYTES = 1 << 20
# Unsent uploads per user and day.
MAX_UNSENT = 200


class Readable(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


def accept_file(
    owner: User,
    *,
    thread_id: str,
    name: str,
    content: Readable,
    file_id: str | None = None,
    only_images: bool = False,
) -> File:
    """Scans and stores an upload, or refuses it. No other user can see it before it is sent."""
    file = File(owner=owner, thread_id=thread_id)
    if file_id:
        file.id = file_id
    return _accept(file, name, content, only_images=only_images)


def accept_photo(owner: User, *, content: Readable, centering: tuple[float, float]) -> File:
    """Scans and stores a profile photo as squares around a point, given as fractions."""
    return _accept(File(owner=owner), "", content, only_images=True, centering=centering)


def _accept(
    file: File,
    name: str,
    content: Readable,
    *,
    only_images: bool,
    centering: tuple[float, float] | None = None,
) -> File:
    _check_unsent_limit(file.owner)
    with tempfile.TemporaryDirectory(prefix="parley-") as folder:
        original = Path(folder) / "original"
        digest = _copy(content, original)
        with original.open("rb") as copy:
            kind = detect_file_type(copy)
        if only_images:
            _check_is_image(kind)
        sample = Sample(original, kind, Path(folder), centering)
        file.kind, file.digest = File.Kind.PHOTO if centering else kind.kind, digest
        # The row comes before the stored content, so that cleanup finds what a crash leaves.
        file.save(force_insert=True)
        try:
            _scan(file, sample, name)
        except Refusal:
            file.delete()
            raise
    return file


def _check_is_image(kind: FileType) -> None:
    if kind.kind != IMAGE:
        hint = "Photos can be JPEG, PNG, WebP, GIF, HEIC or AVIF."
        raise Refusal("UPLOAD_TYPE", "This isn't a photo.", hint=hint)


def _check_unsent_limit(owner: User) -> None:
    since = timezone.now() - timedelta(days=1)
    unsent = list_unused().filter(owner=owner, created_at__gt=since)
    if unsent.count() >= MAX_UNSENT:
        raise Refusal("RATE_LIMITED", "You have too many unsent uploads.", retry_after=3600)


def _copy(content: Readable, to: Path) -> str:
    """Copies to the local disk and enforces the size limit independent of the declared size."""
    max_bytes = settings.FILES["most_bytes"]
    digest, size = hashlib.sha256(), 0
    with to.open("wb") as copy:
        while chunk := content.read(CHUNK_BYTES):
            size += len(chunk)
            if size > max_bytes:
                raise Refusal("UPLOAD_TOO_LARGE")
            digest.update(chunk)
            copy.write(chunk)
    if size == 0:
        raise Refusal("UPLOAD_TYPE", "This file is empty.", hint="Choose another file.")
    return digest.hexdigest()


def _scan(file: File, sample: Sample, name: str) -> None:
    for scanner in list_scanners():
        scanner.scan(sample)
    file.content_type = sample.content_type
    file.name = clean_name(name, file.kind, file.content_type)
    file.width, file.height, file.band = sample.width, sample.height, sample.band
    file.size = sample.variants[file.variants[0]].stat().st_size
    for variant in file.variants:
        with sample.variants[variant].open("rb") as made:
            storage.save(file, variant, made)
    file.state = File.State.READY
    file.save()


def find_files(owner: User, file_ids: Sequence[str], *, thread_id: str) -> list[File]:
    """The owner's files for this thread, in the order of the ids."""
    found = File.objects.in_bulk(file_ids)
    files = [found[file_id] for file_id in file_ids if file_id in found]
    own = [file for file in files if file.owner_id == owner.id and file.thread_id == thread_id]
    if len(own) != len(file_ids):
        raise Refusal("UPLOAD_GONE")
    return own


def reserve_files(files: Sequence[File], *, client_id: str) -> None:
    """Called before the message is stored, so that after a crash cleanup does not delete the files
    of a stored message."""
    check_can_be_used(files)
    uses = [FileUse(file=file, client_id=client_id) for file in files]
    try:
        with transaction.atomic():
            FileUse.objects.bulk_create(uses, ignore_conflicts=True)
    except IntegrityError as error:  # Deleted by cleanup just now.
        raise Refusal("UPLOAD_GONE") from error


def check_can_be_used(files: Sequence[File]) -> None:
    if any(file.released_at for file in files):
        raise Refusal("UPLOAD_GONE")
    if any(file.state != File.State.READY for file in files):
        raise Refusal("UPLOAD_QUARANTINED")


def bind_files(files: Sequence[File], *, client_id: str, message_id: str) -> None:
    """Called after the message is stored: every user who can see it can see its files."""
    uses = FileUse.objects.filter(file__in=files, client_id=client_id)
    uses.update(message_id=message_id)


def release_files(message_id: str) -> None:
    """Called when a message is removed. Files of no other message are kept for staff for a while,
    then deleted by cleanup."""
    with transaction.atomic():
        file_ids = list(
            FileUse.objects.filter(message_id=message_id).values_list("file_id", flat=True)
        )
        FileUse.objects.filter(message_id=message_id).delete()
        release_unused(file_ids)


def release_unused(file_ids: Sequence[str]) -> None:
    """Marks those of the files that have no use left."""
    unused = list_unused().filter(id__in=file_ids)
    unused.update(released_at=timezone.now())


def discard_file(file: File) -> None:
    """Deletes a file without uses. Must not raise: its use is removed already, and if its content
    cannot be deleted now, cleanup does it later."""
    release_unused([file.id])
    try:
        storage.delete(file)
        file.delete()
    except Exception:
        log.exception("file_not_discarded", file=file.id)
