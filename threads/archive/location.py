"""Which archive belongs to this table.

The archive holds an object with a random id, and the table the same id. A process whose storage has
another one, or none, is set up for another archive: it must neither move messages there nor take
what is missing there for deleted.
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
SAMPLE = 20

# Storages that were found to be the right one, by this process.
_checked: list[Storage] = []


class WrongArchive(Exception):
    """The storage is not the archive that this table's old messages are in."""


def check_location() -> None:
    """Raises WrongArchive unless the storage is the recorded one, or the first one."""
    storage = storages["archive"]
    if any(known is storage for known in _checked):
        return
    recorded = ArchiveLocation.find(keys.ARCHIVING, keys.LOCATION)
    if recorded is None:
        recorded = _record(storage)
    if _id_in(storage) != recorded.archive_id:
        raise WrongArchive(
            f"Old messages of this table are in {recorded.described}, and the settings name "
            f"{describe(storage)}. Nothing was moved. Set PARLEY_ARCHIVE_BUCKET or PARLEY_DATA as "
            f"they were, or copy the whole archive there, with its object {MARKER!r}."
        )
    _checked.append(storage)


def accept_new_location() -> None:
    """From now on this one, whatever was recorded: for an archive that is lost or was put together
    by hand."""
    storage = storages["archive"]
    change = Change(set=_values(storage, _id_in(storage) or _mark(storage)))
    update(ArchiveLocation(keys.ARCHIVING, keys.LOCATION), change, None)
    log.warning("archive_location_changed", archive=describe(storage))


def describe(storage: Storage) -> str:
    bucket = getattr(storage, "bucket_name", "")
    return f"the bucket {bucket}" if bucket else f"the folder {getattr(storage, 'location', '')}"


def _record(storage: Storage) -> ArchiveLocation:
    """By the first run; of two at once, by one. Where there are packs from before locations were
    recorded, it has to be where they are."""
    known = list(islice(_list_packs(), SAMPLE))
    if known and not any(storage.exists(path) for path in known):
        raise WrongArchive(
            f"There are archived messages, and {describe(storage)} has none of them. Nothing was "
            "moved. Set PARLEY_ARCHIVE_BUCKET or PARLEY_DATA as they were."
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
    """What is there afterwards counts: another process may have been first."""
    storage.save(MARKER, ContentFile(secrets.token_hex(16).encode()))
    return _id_in(storage)
