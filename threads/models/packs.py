"""The objects of the archive: what many old messages say, in one file of any Django storage.

A pack is written once and never changed; to change it, another one is made. So a pack that was read
may be kept, and one that is no longer there means that the message points elsewhere by now.
"""

import contextlib
import gzip
import hashlib
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from typing import Any

import orjson
import structlog
from django.core.files.base import ContentFile
from django.core.files.storage import Storage, storages

from threads.dynamodb.store import StoreUnavailable, count_archive_read
from threads.dynamodb.table import get_many
from threads.models import archive_reads
from threads.models.archive_reads import ArchiveUnavailable

log = structlog.get_logger(__name__)

# What leaves a message's item, by Python names.
PACKED_FIELDS = ("body", "attachments", "earlier_bodies")
MARK = b"parley-pack-1 "
# In memory, those used last.
MAX_CACHED_PACKS = 32
RETRY_DELAYS_SECONDS = (0.0, 0.02, 0.1, 0.5)

# By message id, what each says.
Contents = dict[str, dict[str, Any]]

_kept: OrderedDict[tuple[str, str], Contents] = OrderedDict()
_lock = threading.Lock()
# Whether messages whose content cannot be read now are given without it.
_placeholders: ContextVar[bool] = ContextVar("placeholders", default=False)


class DamagedPack(ValueError):
    """The object is not what was written."""


def get_content(message: Any) -> dict[str, Any]:
    values = {name: getattr(message, name) for name in PACKED_FIELDS}
    return {name: value for name, value in values.items() if value is not None}


def encode(thread_id: str, contents: Contents) -> bytes:
    """Its checksum comes first, so that it is known from itself whether it is whole."""
    packed = gzip.compress(orjson.dumps({"thread": thread_id, "messages": contents}), mtime=0)
    return MARK + hashlib.sha256(packed).hexdigest().encode() + b"\n" + packed


def decode(thread_id: str, raw: bytes) -> Contents:
    head, _, packed = raw.partition(b"\n")
    if head != MARK + hashlib.sha256(packed).hexdigest().encode():
        raise DamagedPack("its checksum is another")
    pack = orjson.loads(gzip.decompress(packed))
    if pack["thread"] != thread_id:
        raise DamagedPack("it is of another thread")
    return pack["messages"]


def pack_path(thread_id: str, pack_id: str) -> str:
    """The tail of an id is random, so that folders fill evenly."""
    return f"{thread_id[-2:].lower()}/{thread_id}/{pack_id}"


def store_pack(thread_id: str, pack_id: str, contents: Contents) -> None:
    """Stores it, and reads it again: afterwards it is certain that it can be read."""
    path = pack_path(thread_id, pack_id)
    if _storage().save(path, ContentFile(encode(thread_id, contents))) != path:
        raise DamagedPack("there was something in its place")
    _sync(path)
    if read_pack(thread_id, pack_id) != contents:
        raise DamagedPack("what was read is not what was written")


def _sync(path: str) -> None:
    """On our own disk: what is cleared from the table must not depend on what waits in memory."""
    try:
        local = _storage().path(path)
    except NotImplementedError:
        return
    for each in (local, os.path.dirname(local), os.path.dirname(os.path.dirname(local))):
        handle = os.open(each, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def read_pack(thread_id: str, pack_id: str) -> Contents:
    """From the storage itself; FileNotFoundError if there is none."""
    with _storage().open(pack_path(thread_id, pack_id)) as stored:
        return decode(thread_id, stored.read())


def delete_pack(thread_id: str, pack_id: str) -> None:
    with _lock:
        _kept.pop((thread_id, pack_id), None)
    _storage().delete(pack_path(thread_id, pack_id))


def clear_cache() -> None:
    with _lock:
        _kept.clear()
    archive_reads.reset()


@contextlib.contextmanager
def allow_placeholders() -> Iterator[None]:
    """For pages alone: a message whose content cannot be read now has `is_unavailable`, and the
    page shows the rest. Everybody else gets `StoreUnavailable`: an export or a change must not take
    it for an empty message."""
    token = _placeholders.set(True)
    try:
        yield
    finally:
        _placeholders.reset(token)


def load_contents(messages: Iterable[Any]) -> None:
    """Gives old messages what they say. Each pack is opened once, however many are in it."""
    waiting = [message for message in messages if message.archive_ref]
    for seconds in RETRY_DELAYS_SECONDS:
        waiting = [message for message in waiting if not _is_filled(message)]
        if not waiting:
            return
        # Packed anew, or brought back, since they were read: they know where it is now.
        time.sleep(seconds)
        _read_again(waiting)
        waiting = [message for message in waiting if message.archive_ref]
    if waiting:
        log.error("pack_missing", thread=waiting[0].thread_id, pack=waiting[0].archive_ref)
        _leave_out(waiting)


def _leave_out(messages: list[Any]) -> None:
    if not _placeholders.get():
        raise StoreUnavailable("archive")
    for message in messages:
        message.is_unavailable = True


def _is_filled(message: Any) -> bool:
    try:
        contents = _open(message.thread_id, message.archive_ref)
    except ArchiveUnavailable:
        _leave_out([message])
        return True
    content = contents.get(message.id) if contents is not None else None
    if content is None:
        return False
    for name, value in content.items():
        setattr(message, name, value)
    return True


def _read_again(messages: list[Any]) -> None:
    found = get_many(((message.pk, message.sk) for message in messages), whole=False)
    now = {item.sk: item for item in found}
    for message in messages:
        message.attribute_values = dict(now[message.sk].attribute_values)


def _open(thread_id: str, pack_id: str) -> Contents | None:
    at = (thread_id, pack_id)
    with _lock:
        if at in _kept:
            _kept.move_to_end(at)
            return _kept[at]
    count_archive_read()
    try:
        contents = archive_reads.read_with_timeout(lambda: read_pack(thread_id, pack_id))
    except FileNotFoundError:
        return None
    except ValueError as error:
        log.exception("pack_not_read", thread=thread_id, pack=pack_id)
        raise ArchiveUnavailable("damaged") from error
    with _lock:
        _kept[at] = contents
        while len(_kept) > MAX_CACHED_PACKS:
            _kept.popitem(last=False)
    return contents


def _storage() -> Storage:
    return storages["archive"]
