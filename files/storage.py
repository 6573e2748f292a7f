"""Where files are kept: any Django storage, by default a folder that nothing serves."""

from typing import Any, BinaryIO

from django.core.files.base import File as Content
from django.core.files.storage import Storage, storages

from files.models import File

# A link that somebody passes on is soon worth nothing.
LINK_SECONDS = 60


def keep(file: File, variant: str, content: BinaryIO) -> None:
    path = file.path(variant)
    # Left behind by an attempt that was cut off; a storage would choose another name.
    _storage().delete(path)
    _storage().save(path, Content(content))


def open_kept(file: File, variant: str) -> Any:
    return _storage().open(file.path(variant))


def link_to(file: File, variant: str, *, disposition: str, content_type: str) -> str | None:
    """A short-lived address, where the storage has one; None where we serve it ourselves."""
    storage: Any = _storage()
    if not hasattr(storage, "bucket_name"):
        return None
    asked = {"ResponseContentDisposition": disposition, "ResponseContentType": content_type}
    return str(storage.url(file.path(variant), parameters=asked, expire=LINK_SECONDS))


def discard(file: File) -> None:
    for variant in file.variants:
        _storage().delete(file.path(variant))


def _storage() -> Storage:
    return storages["files"]
