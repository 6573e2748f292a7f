"""Which participant items were written a moment ago, by user.

A read of an index may be older than a write that was acknowledged before it. So every write of a
participant item is recorded here for `PARLEY_INDEX_LAG_SECONDS`, and readers of an index also read
those items by key (`threads/models/recent_rows.py`). The records are in memory with one process and
in Redis with several. While Redis is unavailable, a process has only its own writes, and other
changes appear once the index has caught up.
"""

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable
from functools import cache
from math import inf
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

# User id and thread id of a participant item.
Row = tuple[str, str]

# The newest of each user: enough for two actions on the maximum number of threads.
MAX_THREADS = 200
# The users with the newest writes that are kept in memory.
MAX_USERS = 10_000
# A row that is written again and again is recorded in Redis once in this share of the lag, and its
# records are valid for as much longer.
REPEAT_SHARE = 0.25
# Rows of which a process knows that they are recorded in Redis.
MAX_RECORDED = 10_000
RETRIES = 1


def list_written_rows(operation: str, arguments: dict[str, Any]) -> list[Row]:
    """The participants and invitations that a request to the store writes."""
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
    """Records before the write: an extra record costs a read, a missing one shows a stale row."""
    if rows and settings.INDEX_LAG_SECONDS:
        _notes().record(rows)


async def record_async(rows: list[Row]) -> None:
    if rows and settings.INDEX_LAG_SECONDS:
        await _notes().record_async(rows)


def list_threads(user_id: str) -> list[str]:
    """Threads whose row of this user may be stale in an index."""
    return _notes().list_threads(user_id) if settings.INDEX_LAG_SECONDS else []


async def list_threads_async(user_id: str) -> list[str]:
    return await _notes().list_threads_async(user_id) if settings.INDEX_LAG_SECONDS else []


def clear() -> None:
    """For tests: treats every index as up to date."""
    _notes().clear()


class RecentWrites(Protocol):
    def record(self, rows: list[Row]) -> None: ...

    async def record_async(self, rows: list[Row]) -> None: ...

    def list_threads(self, user_id: str) -> list[str]: ...

    async def list_threads_async(self, user_id: str) -> list[str]: ...

    def clear(self) -> None: ...


@cache
def _notes() -> RecentWrites:
    return RedisRecentWrites(settings.REDIS_URL) if settings.REDIS_URL else InMemoryRecentWrites()


class InMemoryRecentWrites:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Time of the last write of each thread's row, by user; the newest last.
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

    async def list_threads_async(self, user_id: str) -> list[str]:
        return self.list_threads(user_id)

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


# Uses the clock of Redis, since the clocks of the processes may differ.
NOTE = """
local now = redis.call('TIME')[1]
for i, key in ipairs(KEYS) do
  redis.call('ZADD', key, now, ARGV[i + 2])
  redis.call('ZREMRANGEBYRANK', key, 0, -1 - ARGV[2])
  redis.call('EXPIRE', key, ARGV[1])
end
return 1
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
        # When this process has last recorded a row in Redis.
        self._recorded: dict[Row, float] = {}
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
        due, now = self._list_due(rows), time.monotonic()
        if due and self._try(NOTE, *_note_arguments(due)):
            self._set_recorded(due, now)

    async def record_async(self, rows: list[Row]) -> None:
        self._own.record(rows)
        due, now = self._list_due(rows), time.monotonic()
        if due and await self._try_async(NOTE, *_note_arguments(due)):
            self._set_recorded(due, now)

    def _list_due(self, rows: list[Row]) -> list[Row]:
        """The rows whose record in Redis is not valid long enough for this write."""
        since = time.monotonic() - REPEAT_SHARE * settings.INDEX_LAG_SECONDS
        return [row for row in rows if self._recorded.get(row, -inf) <= since]

    def _set_recorded(self, rows: list[Row], at: float) -> None:
        if len(self._recorded) > MAX_RECORDED:
            self._recorded.clear()
        self._recorded.update(dict.fromkeys(rows, at))

    def list_threads(self, user_id: str) -> list[str]:
        return self._with_own(user_id, self._try(LIST, 1, _key(user_id), _lifetime()))

    async def list_threads_async(self, user_id: str) -> list[str]:
        found = await self._try_async(LIST, 1, _key(user_id), _lifetime())
        return self._with_own(user_id, found)

    def _with_own(self, user_id: str, found: list[bytes] | None) -> list[str]:
        from_redis = dict.fromkeys(thread_id.decode() for thread_id in found or ())
        return list(from_redis | dict.fromkeys(self._own.list_threads(user_id)))[-MAX_THREADS:]

    def clear(self) -> None:
        self._own.clear()
        self._recorded.clear()
        for key in self._client.scan_iter(f"{_key('')}*"):
            self._client.delete(key)

    def _try(self, script: str, *arguments: Any) -> Any:
        """The result of a script, or None while Redis is unavailable."""
        if not redis_outage.can_try():
            return None
        try:
            with redis_outage.tracked():
                return self._client.eval(script, *arguments)
        except REDIS_ERRORS:
            return None

    async def _try_async(self, script: str, *arguments: Any) -> Any:
        if not redis_outage.can_try():
            return None
        try:
            with redis_outage.tracked():
                async with asyncio.timeout(redis_outage.timeout_seconds):
                    return await self._client_on_loop().eval(script, *arguments)
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
    """Whole seconds, plus one because Redis counts started seconds."""
    return int((1 + REPEAT_SHARE) * settings.INDEX_LAG_SECONDS) + 1


def _key(user_id: str) -> str:
    return f"{settings.REDIS_PREFIX}:recent:{user_id}"
