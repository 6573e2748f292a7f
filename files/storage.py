"""Where files are kept: any Django storage, by default a folder that nothing serves."""

from typing import Any, BinaryIO

from django.core.files.base import File as Content
from django.core.files.storage import Storage, storages

from files.models import File

# A link that somebody passes on is soon worth nothing.
LINK_SECONDS = 60


def save(file: File, variant: str, content: BinaryIO) -> None:
    path = file.path(variant)
    # Left behind by an attempt that was cut off; a storage would choose another name.
    get_storage().delete(path)
    get_storage().save(path, Content(content))


def open_file(file: File, variant: str) -> Any:
    return get_storage().open(file.path(variant))


def signed_url(path: str, *, disposition: str, content_type: str) -> str | None:
    """A short-lived address, where the storage has one; None where we serve it ourselves."""
    storage: Any = get_storage()
    if not hasattr(storage, "bucket_name"):
        return None
    asked = {"ResponseContentDisposition": disposition, "ResponseContentType": content_type}
    return str(storage.url(path, parameters=asked, expire=LINK_SECONDS))


def delete(file: File) -> None:
    for variant in file.variants:
        get_storage().delete(file.path(variant))


def get_storage() -> Storage:
    return storages["files"]
