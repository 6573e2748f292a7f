"""Taking files in, saying which message has them, and letting them go."""

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
from files.file_types import detect_file_type
from files.models import FULL, File, FileUse
from files.names import clean_name
from files.scanners import Sample, list_scanners

log = structlog.get_logger(__name__)
CHUNK = 1 << 20
# Brought and not sent, in a day: more than anybody means to send.
MAX_UNSENT = 200


class Readable(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


def accept_file(
    owner: User, *, thread_id: str, name: str, content: Readable, file_id: str | None = None
) -> File:
    """Takes a file in, or refuses it; it is nobody's to see until it is in a message."""
    _check_patience(owner)
    with tempfile.TemporaryDirectory(prefix="parley-") as folder:
        came = Path(folder) / "came"
        digest = _copy(content, came)
        with came.open("rb") as copy:
            kind = detect_file_type(copy)
        sample = Sample(came, kind, Path(folder))
        file = File(owner=owner, thread_id=thread_id, kind=kind.kind, digest=digest)
        if file_id:
            file.id = file_id
        # A row before anything is kept: what a crash leaves behind can be found by it.
        file.save(force_insert=True)
        try:
            _scan(file, sample, name)
        except Refusal:
            file.delete()
            raise
    return file


def _check_patience(owner: User) -> None:
    since = timezone.now() - timedelta(days=1)
    unsent = File.objects.filter(owner=owner, created_at__gt=since, uses=None, tab_use=None)
    if unsent.count() >= MAX_UNSENT:
        raise Refusal("RATE_LIMITED", "You brought many files and sent none.", retry_after=3600)


def _copy(content: Readable, to: Path) -> str:
    """Onto our own disk, and never more than is allowed, whatever was said of its size."""
    most = settings.FILES["most_bytes"]
    digest, size = hashlib.sha256(), 0
    with to.open("wb") as copy:
        while chunk := content.read(CHUNK):
            size += len(chunk)
            if size > most:
                raise Refusal("UPLOAD_TOO_LARGE")
            digest.update(chunk)
            copy.write(chunk)
    if size == 0:
        raise Refusal("UPLOAD_TYPE", "This file is empty.", hint="Choose another one.")
    return digest.hexdigest()


def _scan(file: File, sample: Sample, name: str) -> None:
    for scanner in list_scanners():
        scanner.scan(sample)
    file.content_type = sample.content_type
    file.name = clean_name(name, file.kind, file.content_type)
    file.width, file.height, file.band = sample.width, sample.height, sample.band
    file.size = sample.variants[FULL].stat().st_size
    for variant, path in sample.variants.items():
        with path.open("rb") as made:
            storage.save(file, variant, made)
    file.state = File.State.READY
    file.save()


def find_files(owner: User, file_ids: Sequence[str], *, thread_id: str) -> list[File]:
    """Theirs, brought for this thread, in this order."""
    found = File.objects.in_bulk(file_ids)
    files = [found[file_id] for file_id in file_ids if file_id in found]
    theirs = [file for file in files if file.owner_id == owner.id and file.thread_id == thread_id]
    if len(theirs) != len(file_ids):
        raise Refusal("UPLOAD_GONE")
    return theirs


def reserve_files(files: Sequence[File], *, client_id: str) -> None:
    """Before the message is stored, so that no crash can leave one whose files nobody knows to be
    in use."""
    check_can_be_used(files)
    uses = [FileUse(file=file, client_id=client_id) for file in files]
    try:
        with transaction.atomic():
            FileUse.objects.bulk_create(uses, ignore_conflicts=True)
    except IntegrityError as error:  # Swept just now.
        raise Refusal("UPLOAD_GONE") from error


def check_can_be_used(files: Sequence[File]) -> None:
    if any(file.released_at for file in files):
        raise Refusal("UPLOAD_GONE")
    if any(file.state != File.State.READY for file in files):
        raise Refusal("UPLOAD_QUARANTINED")


def bind_files(files: Sequence[File], *, client_id: str, message_id: str) -> None:
    """The message is stored: from now on whoever may see it may see them."""
    uses = FileUse.objects.filter(file__in=files, client_id=client_id)
    uses.update(message_id=message_id)


def release_files(message_id: str) -> None:
    """The message went. Files that no other has are kept for staff for a while, then swept."""
    with transaction.atomic():
        gone = list(FileUse.objects.filter(message_id=message_id).values_list("file_id", flat=True))
        FileUse.objects.filter(message_id=message_id).delete()
        release_unused(gone)


def release_unused(file_ids: Sequence[str]) -> None:
    """Of these, what nothing has any more."""
    left = File.objects.filter(id__in=file_ids, uses=None, tab_use=None)
    left.update(released_at=timezone.now())
