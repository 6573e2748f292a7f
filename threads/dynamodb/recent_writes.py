"""Which participant items were written a moment ago, by user.

A read of an index may be older than a write that was acknowledged before it. So every write of a
participant item is noted here for `PARLEY_INDEX_LAG_SECONDS`, and whoever reads an index reads
those items by key as well (`threads/models/recent_rows.py`). The notes are in memory with one
process and in Redis with several. While Redis is away a process knows of its own writes only,
and the rest shows as soon as the index has caught up.
"""

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable
from functools import cache
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import redis
from django.conf import settings
from redis.asyncio import Redis as RedisOnLoop
from redis.asyncio.retry import Retry as RetryOnLoop
from redis.backoff import NoBackoff
from redis.retry import Retry

from core.redis_outage import REDIS_ERRORS, redis_outage
from threads.dynamodb import keys

# User and thread: one participant item.
Row = tuple[str, str]

# Of one user, the newest: two actions on as many threads as one action may take.
MAX_THREADS = 200
# In memory, the users whose items were written last.
MAX_USERS = 10_000
RETRIES = 1


def list_written_rows(operation: str, arguments: dict[str, Any]) -> list[Row]:
    """The participant items and invitations that a request to the store writes."""
    match operation:
        case "UpdateItem" | "DeleteItem" | "PutItem":
            requests = [arguments]
        case "TransactWriteItems":
            requests = [
                request
                for item in arguments["TransactItems"]
                for kind, request in item.items()
                if kind != "ConditionCheck"
            ]
        case "BatchWriteItem":
            requests = [
                request
                for items in arguments["RequestItems"].values()
                for item in items
                for request in item.values()
            ]
        case _:
            return []
    found = (_row(request.get("Key") or request.get("Item") or {}) for request in requests)
    return [row for row in found if row is not None]


def _row(key: dict[str, Any]) -> Row | None:
    sk = key.get("sk", {}).get("S", "")
    for prefix in (keys.PARTICIPANTS, keys.INVITATIONS):
        if sk.startswith(prefix):
            return sk.removeprefix(prefix), key["pk"]["S"].removeprefix(keys.thread_pk(""))
    return None


def record(rows: list[Row]) -> None:
    """Before the write: a note too many costs one read, a note too few shows an old row."""
    if rows and settings.INDEX_LAG_SECONDS:
        _notes().record(rows)


async def record_async(rows: list[Row]) -> None:
    if rows and settings.INDEX_LAG_SECONDS:
        await _notes().record_async(rows)


def list_threads(user_id: str) -> list[str]:
    """Threads whose row of this user may be older in an index than in the table."""
    return _notes().list_threads(user_id) if settings.INDEX_LAG_SECONDS else []


def clear() -> None:
    """For tests: as if every index had caught up."""
    _notes().clear()


class RecentWrites(Protocol):
    def record(self, rows: list[Row]) -> None: ...

    async def record_async(self, rows: list[Row]) -> None: ...

    def list_threads(self, user_id: str) -> list[str]: ...

    def clear(self) -> None: ...


@cache
def _notes() -> RecentWrites:
    return RedisRecentWrites(settings.REDIS_URL) if settings.REDIS_URL else InMemoryRecentWrites()


class InMemoryRecentWrites:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        # By user: when each thread's row was written last, the newest at the end.
        self._written: OrderedDict[str, OrderedDict[str, float]] = OrderedDict()

    def record(self, rows: Iterable[Row]) -> None:
        now = time.monotonic()
        with self._lock:
            for user_id, thread_id in rows:
                threads = self._written.setdefault(user_id, OrderedDict())
                threads[thread_id] = now
                threads.move_to_end(thread_id)
                self._written.move_to_end(user_id)
                if len(threads) > MAX_THREADS:
                    threads.popitem(last=False)
            self._drop_old(now)

    async def record_async(self, rows: list[Row]) -> None:
        self.record(rows)

    def list_threads(self, user_id: str) -> list[str]:
        since = time.monotonic() - settings.INDEX_LAG_SECONDS
        with self._lock:
            threads = self._written.get(user_id, OrderedDict())
            return [thread_id for thread_id, at in threads.items() if at > since]

    def clear(self) -> None:
        with self._lock:
            self._written.clear()

    def _drop_old(self, now: float) -> None:
        """Users are in the order of their last write, so the old ones are at the front."""
        while self._written:
            threads = next(iter(self._written.values()))
            is_old = next(reversed(threads.values())) <= now - settings.INDEX_LAG_SECONDS
            if not is_old and len(self._written) <= MAX_USERS:
                return
            self._written.popitem(last=False)


# By the clock of Redis: the clocks of the processes may differ.
NOTE = """
local now = redis.call('TIME')[1]
for i, key in ipairs(KEYS) do
  redis.call('ZADD', key, now, ARGV[i + 2])
  redis.call('ZREMRANGEBYRANK', key, 0, -1 - ARGV[2])
  redis.call('EXPIRE', key, ARGV[1])
end
"""
LIST = """
local since = '(' .. redis.call('TIME')[1] - ARGV[1]
return redis.call('ZRANGEBYSCORE', KEYS[1], since, '+inf')
"""


class RedisRecentWrites:
    """For each user a sorted set of threads, by the time of the last write."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._own = InMemoryRecentWrites()
        timeout = redis_outage.timeout_seconds
        self._client = redis.Redis.from_url(
            url,
            socket_timeout=timeout,
            socket_connect_timeout=timeout,
            retry=Retry(NoBackoff(), RETRIES),
        )
        # Connections belong to the event loop on which they were opened.
        self._on_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, RedisOnLoop] = (
            WeakKeyDictionary()
        )

    def record(self, rows: list[Row]) -> None:
        self._own.record(rows)
        self._try(NOTE, *_note_arguments(rows))

    async def record_async(self, rows: list[Row]) -> None:
        self._own.record(rows)
        if not redis_outage.can_try():
            return
        try:
            with redis_outage.tracked():
                async with asyncio.timeout(redis_outage.timeout_seconds):
                    await self._client_on_loop().eval(NOTE, *_note_arguments(rows))
        except REDIS_ERRORS:
            return

    def list_threads(self, user_id: str) -> list[str]:
        found = self._try(LIST, 1, _key(user_id), _lifetime())
        known = dict.fromkeys(thread_id.decode() for thread_id in found or ())
        return list(known | dict.fromkeys(self._own.list_threads(user_id)))[-MAX_THREADS:]

    def clear(self) -> None:
        self._own.clear()
        for key in self._client.scan_iter(f"{_key('')}*"):
            self._client.delete(key)

    def _try(self, script: str, *arguments: Any) -> Any:
        """What Redis answers, or None when it is away."""
        if not redis_outage.can_try():
            return None
        try:
            with redis_outage.tracked():
                return self._client.eval(script, *arguments)
        except REDIS_ERRORS:
            return None

    def _client_on_loop(self) -> RedisOnLoop:
        loop = asyncio.get_running_loop()
        if loop not in self._on_loop:
            retry = RetryOnLoop(NoBackoff(), RETRIES)
            self._on_loop[loop] = RedisOnLoop.from_url(self._url, retry=retry)
        return self._on_loop[loop]


def _note_arguments(rows: list[Row]) -> list[Any]:
    names = [_key(user_id) for user_id, _ in rows]
    threads = [thread_id for _, thread_id in rows]
    return [len(names), *names, _lifetime(), MAX_THREADS, *threads]


def _lifetime() -> int:
    """Whole seconds, one more since Redis counts those that have begun."""
    return int(settings.INDEX_LAG_SECONDS) + 1


def _key(user_id: str) -> str:
    return f"{settings.REDIS_PREFIX}:recent:{user_id}"
