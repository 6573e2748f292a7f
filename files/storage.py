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
    storage_of_files().delete(path)
    storage_of_files().save(path, Content(content))


def open_kept(file: File, variant: str) -> Any:
    return storage_of_files().open(file.path(variant))


def link_to(path: str, *, disposition: str, content_type: str) -> str | None:
    """A short-lived address, where the storage has one; None where we serve it ourselves."""
    storage: Any = storage_of_files()
    if not hasattr(storage, "bucket_name"):
        return None
    asked = {"ResponseContentDisposition": disposition, "ResponseContentType": content_type}
    return str(storage.url(path, parameters=asked, expire=LINK_SECONDS))


def discard(file: File) -> None:
    for variant in file.variants:
        storage_of_files().delete(file.path(variant))


def storage_of_files() -> Storage:
    return storages["files"]
