"""Packs: the contents of many old messages in one object of any Django storage.

A pack is immutable; a change creates a new one. So packs can be cached, and a missing pack means
that the message refers to another one by now.
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

# Attributes that are moved from a message to its pack, by Python name.
PACKED_FIELDS = ("body", "attachments", "earlier_bodies")
MAGIC = b"parley-pack-1 "
# The most recently used packs that are kept in memory.
MAX_CACHED_PACKS = 32
RETRY_DELAYS_SECONDS = (0.0, 0.02, 0.1, 0.5)

# The packed attributes of each message, by message id.
Contents = dict[str, dict[str, Any]]

_cache: OrderedDict[tuple[str, str], Contents] = OrderedDict()
_lock = threading.Lock()
# Whether messages whose content is unavailable are returned without it.
_placeholders: ContextVar[bool] = ContextVar("placeholders", default=False)


class DamagedPack(ValueError):
    """The object does not have the content that was written."""


def get_content(message: Any) -> dict[str, Any]:
    values = {name: getattr(message, name) for name in PACKED_FIELDS}
    return {name: value for name, value in values.items() if value is not None}


def encode(thread_id: str, contents: Contents) -> bytes:
    """The encoded pack, which begins with its checksum."""
    packed = gzip.compress(orjson.dumps({"thread": thread_id, "messages": contents}), mtime=0)
    return MAGIC + hashlib.sha256(packed).hexdigest().encode() + b"\n" + packed


def decode(thread_id: str, raw: bytes) -> Contents:
    head, _, packed = raw.partition(b"\n")
    if head != MAGIC + hashlib.sha256(packed).hexdigest().encode():
        raise DamagedPack("its checksum does not match")
    pack = orjson.loads(gzip.decompress(packed))
    if pack["thread"] != thread_id:
        raise DamagedPack("it belongs to another thread")
    return pack["messages"]


def pack_path(thread_id: str, pack_id: str) -> str:
    """The last characters of an id are random, so that folders fill evenly."""
    return f"{thread_id[-2:].lower()}/{thread_id}/{pack_id}"


def store_pack(thread_id: str, pack_id: str, contents: Contents) -> None:
    """Stores a pack and reads it again, to be certain that it can be read."""
    path = pack_path(thread_id, pack_id)
    if _storage().save(path, ContentFile(encode(thread_id, contents))) != path:
        raise DamagedPack("an object with its name exists")
    _sync(path)
    if read_pack(thread_id, pack_id) != contents:
        raise DamagedPack("the content that was read differs from what was written")


def _sync(path: str) -> None:
    """Flushes a local file to disk before its content is removed from the table."""
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
    """Reads a pack from the storage, not from the cache. Raises FileNotFoundError."""
    with _storage().open(pack_path(thread_id, pack_id)) as stored:
        return decode(thread_id, stored.read())


def delete_pack(thread_id: str, pack_id: str) -> None:
    with _lock:
        _cache.pop((thread_id, pack_id), None)
    _storage().delete(pack_path(thread_id, pack_id))


def clear_cache() -> None:
    with _lock:
        _cache.clear()
    archive_reads.reset()


@contextlib.contextmanager
def allow_placeholders() -> Iterator[None]:
    """For pages only: a message whose content cannot be read has `is_unavailable`, and the page
    shows the others. Otherwise `StoreUnavailable` is raised, since an export or a change must not
    mistake it for an empty message."""
    token = _placeholders.set(True)
    try:
        yield
    finally:
        _placeholders.reset(token)


def load_contents(messages: Iterable[Any]) -> None:
    """Loads the contents of archived messages. Each pack is opened once."""
    pending = [message for message in messages if message.archive_ref]
    for seconds in RETRY_DELAYS_SECONDS:
        pending = [message for message in pending if not _load_content(message)]
        if not pending:
            return
        # They were packed again or restored since they were read.
        time.sleep(seconds)
        _reload(pending)
        pending = [message for message in pending if message.archive_ref]
    if pending:
        log.error("pack_missing", thread=pending[0].thread_id, pack=pending[0].archive_ref)
        _mark_unavailable(pending)


def _mark_unavailable(messages: list[Any]) -> None:
    if not _placeholders.get():
        raise StoreUnavailable("archive")
    for message in messages:
        message.is_unavailable = True


def _load_content(message: Any) -> bool:
    try:
        contents = _get_contents(message.thread_id, message.archive_ref)
    except ArchiveUnavailable:
        _mark_unavailable([message])
        return True
    content = contents.get(message.id) if contents is not None else None
    if content is None:
        return False
    for name, value in content.items():
        setattr(message, name, value)
    return True


def _reload(messages: list[Any]) -> None:
    found = get_many(((message.pk, message.sk) for message in messages), with_contents=False)
    now = {item.sk: item for item in found}
    for message in messages:
        message.attribute_values = dict(now[message.sk].attribute_values)


def _get_contents(thread_id: str, pack_id: str) -> Contents | None:
    at = (thread_id, pack_id)
    with _lock:
        if at in _cache:
            _cache.move_to_end(at)
            return _cache[at]
    count_archive_read()
    try:
        contents = archive_reads.read_with_timeout(lambda: read_pack(thread_id, pack_id))
    except FileNotFoundError:
        return None
    except ValueError as error:
        log.exception("pack_read_failed", thread=thread_id, pack=pack_id)
        raise ArchiveUnavailable("damaged") from error
    with _lock:
        _cache[at] = contents
        while len(_cache) > MAX_CACHED_PACKS:
            _cache.popitem(last=False)
    return contents


def _storage() -> Storage:
    return storages["archive"]
