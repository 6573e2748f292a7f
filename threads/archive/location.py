"""Verifies that the configured archive belongs to this table.

The archive and the table store the same random id. A process whose storage has a different id, or
none, is configured for another archive: it must neither move messages there nor treat packs that
are missing there as deleted.
"""

import secrets
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice

import structlog
from django.core.files.base import ContentFile
from django.core.files.storage import Storage, storages

from threads.archive.work_list import list_packed_threads
from threads.dynamodb import keys
from threads.dynamodb.change import Change
from threads.dynamodb.table import Item, query
from threads.dynamodb.transactions import update
from threads.models import ArchiveLocation, Pack, packs

log = structlog.get_logger(__name__)

MARKER = "archive-id"
SAMPLE_SIZE = 20

# Storages that this process has verified.
_checked: list[Storage] = []


class WrongArchive(Exception):
    """The storage is not the archive of this table."""


def check_location() -> None:
    """Raises WrongArchive unless the storage is the recorded one, or the first to be used."""
    storage = storages["archive"]
    if any(checked is storage for checked in _checked):
        return
    recorded = ArchiveLocation.find(keys.ARCHIVING, keys.LOCATION)
    if recorded is None:
        recorded = _record(storage)
    if _id_in(storage) != recorded.archive_id:
        raise WrongArchive(
            f"Archived messages of this table are in {recorded.described}, but the settings name "
            f"{describe(storage)}. Nothing was moved. Restore PARLEY_ARCHIVE_BUCKET or "
            f"PARLEY_DATA, or copy the whole archive there, with its object {MARKER!r}."
        )
    _checked.append(storage)


def accept_new_location() -> None:
    """Records the configured storage as the archive, for one that was lost or copied by hand."""
    storage = storages["archive"]
    change = Change(set=_values(storage, _id_in(storage) or _mark(storage)))
    update(ArchiveLocation(keys.ARCHIVING, keys.LOCATION), change, None)
    log.warning("archive_location_changed", archive=describe(storage))


def describe(storage: Storage) -> str:
    bucket = getattr(storage, "bucket_name", "")
    return f"the bucket {bucket}" if bucket else f"the folder {getattr(storage, 'location', '')}"


def _record(storage: Storage) -> ArchiveLocation:
    """Records the location on the first run; of two concurrent runs, one succeeds. A storage has to
    contain the packs from before locations were recorded."""
    sample = list(islice(_list_packs(), SAMPLE_SIZE))
    if sample and not any(storage.exists(path) for path in sample):
        raise WrongArchive(
            f"There are archived messages, but {describe(storage)} has none of them. Nothing was "
            "moved. Restore PARLEY_ARCHIVE_BUCKET or PARLEY_DATA."
        )
    values = _values(storage, _id_in(storage) or _mark(storage))
    item = ArchiveLocation(keys.ARCHIVING, keys.LOCATION)
    update(item, Change(set=values), ArchiveLocation.archive_id.does_not_exist())
    recorded = ArchiveLocation.find(keys.ARCHIVING, keys.LOCATION)
    assert recorded is not None
    return recorded


def _list_packs() -> Iterator[str]:
    for thread_id in list_packed_threads():
        where = Item.sk.startswith(keys.PACKS)
        for found in query(keys.thread_pk(thread_id), where, limit=1).of(Pack):
            yield packs.pack_path(thread_id, found.id)


def _values(storage: Storage, archive_id: str) -> dict[str, str]:
    since = keys.iso(datetime.now(UTC))
    return {"archive_id": archive_id, "described": describe(storage), "since": since}


def _id_in(storage: Storage) -> str:
    try:
        with storage.open(MARKER) as stored:
            return bytes(stored.read()).decode()
    except FileNotFoundError:
        return ""


def _mark(storage: Storage) -> str:
    """Writes a new id and returns the stored one; another process may have written first."""
    storage.save(MARKER, ContentFile(secrets.token_hex(16).encode()))
    return _id_in(storage)
