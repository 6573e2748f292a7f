"""Stored content of files: in any Django storage, by default a folder that is not served."""

from typing import Any, BinaryIO

from django.core.files.base import File as Content
from django.core.files.storage import Storage, storages

from files.models import File

# Short, so that a shared link soon expires.
LINK_SECONDS = 60


def save(file: File, variant: str, content: BinaryIO) -> None:
    path = file.path(variant)
    # An interrupted attempt may have left one, and a storage would choose another name.
    get_storage().delete(path)
    get_storage().save(path, Content(content))


def open_file(file: File, variant: str) -> Any:
    return get_storage().open(file.path(variant))


def signed_url(path: str, *, disposition: str, content_type: str) -> str | None:
    """None if the storage has no signed URLs and the server sends the file itself."""
    storage: Any = get_storage()
    if not hasattr(storage, "bucket_name"):
        return None
    parameters = {"ResponseContentDisposition": disposition, "ResponseContentType": content_type}
    return str(storage.url(path, parameters=parameters, expire=LINK_SECONDS))


def delete(file: File) -> None:
    for variant in file.variants:
        get_storage().delete(file.path(variant))


def get_storage() -> Storage:
    return storages["files"]
