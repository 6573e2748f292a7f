"""Presence: a user is online if one of their connections was active within the last minute.

It is stored in memory with one process and in Redis with several. While Redis is unavailable, a
process has only its own connections. Presence does not imply delivery.
"""

import asyncio
import math
import time
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, Protocol, TypeVar
from weakref import WeakKeyDictionary

from django.conf import settings
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError

from core.redis_outage import REDIS_ERRORS, redis_outage

# After an outage of Redis the pool has dead connections: a second attempt opens a new one.
RETRY_ONCE = Retry(NoBackoff(), 1, supported_errors=(ConnectionError,))
# Clients ping every 25 seconds, and pings are recorded every 16 to 24 seconds.
EXPIRY_SECONDS = 60
# Connections in one command, so that Redis is not blocked for long.
MAX_CHUNK_SIZE = 500

Value = TypeVar("Value")
# A user id and the id of one of their connections.
UserConnectionIds = tuple[str, str]


async def touch(user_id: str, connection_id: str) -> bool:
    """Called on connect. Returns whether the user was online before."""
    return user_id in await _presence().touch({(user_id, connection_id): 0.0})


async def touch_all(ages: dict[UserConnectionIds, float]) -> None:
    """Records when connections were last active, in seconds before now."""
    await _presence().touch(ages)


async def remove_all(closed: Iterable[UserConnectionIds]) -> None:
    await _presence().remove(list(closed))


async def list_online(user_ids: Iterable[str]) -> set[str]:
    return await _presence().list_online(list(user_ids))


async def list_live_connections(user_id: str) -> set[str]:
    """The active connections of a user; those of a dead server are left out."""
    return await _presence().list_live_connections(user_id)


class Presence(Protocol):
    async def touch(self, ages: dict[UserConnectionIds, float]) -> set[str]:
        """Returns the users who were online before."""

    async def remove(self, closed: list[UserConnectionIds]) -> None: ...

    async def list_online(self, user_ids: list[str]) -> set[str]: ...

    async def list_live_connections(self, user_id: str) -> set[str]: ...


@cache
def _presence() -> Presence:
    return RedisPresence(settings.REDIS_URL) if settings.REDIS_URL else InMemoryPresence()


class InMemoryPresence:
    def __init__(self) -> None:
        self._alive_at: dict[str, dict[str, float]] = {}

    async def touch(self, ages: dict[UserConnectionIds, float]) -> set[str]:
        was_online = await self.list_online([user_id for user_id, _ in ages])
        now = time.monotonic()
        for (user_id, connection_id), age in ages.items():
            self._alive_at.setdefault(user_id, {})[connection_id] = now - age
        return was_online

    async def remove(self, closed: list[UserConnectionIds]) -> None:
        for user_id, connection_id in closed:
            left = self._alive(user_id)
            left.pop(connection_id, None)
            if left:
                self._alive_at[user_id] = left
            else:
                self._alive_at.pop(user_id, None)

    async def list_online(self, user_ids: list[str]) -> set[str]:
        since, seen = time.monotonic() - EXPIRY_SECONDS, self._alive_at
        return {
            user_id
            for user_id in user_ids
            if max(seen.get(user_id, {}).values(), default=-math.inf) > since
        }

    async def list_live_connections(self, user_id: str) -> set[str]:
        return set(self._alive(user_id))

    def _alive(self, user_id: str) -> dict[str, float]:
        since = time.monotonic() - EXPIRY_SECONDS
        seen = self._alive_at.get(user_id, {})
        return {connection_id: at for connection_id, at in seen.items() if at > since}


# Uses the clock of Redis, since the clocks of the processes may differ.
TOUCH = """
local now = redis.call('TIME')[1]
local found = {}
for i, key in ipairs(KEYS) do
  found[i] = redis.call('ZCOUNT', key, '(' .. now - ARGV[1], '+inf')
  redis.call('ZADD', key, now - ARGV[2 * i + 1], ARGV[2 * i])
  redis.call('ZREMRANGEBYSCORE', key, '-inf', now - ARGV[1])
  redis.call('EXPIRE', key, ARGV[1])
end
return found
"""
REMOVE = """
for i, key in ipairs(KEYS) do redis.call('ZREM', key, ARGV[i]) end
"""
ALIVE = """
local since = '(' .. redis.call('TIME')[1] - ARGV[1]
local found = {}
for i, key in ipairs(KEYS) do found[i] = redis.call('ZCOUNT', key, since, '+inf') end
return found
"""
LIST_ALIVE = """
local since = '(' .. redis.call('TIME')[1] - ARGV[1]
return redis.call('ZRANGEBYSCORE', KEYS[1], since, '+inf')
"""


class RedisPresence:
    """For each user a sorted set of connections, by the time of their last heartbeat."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._own = InMemoryPresence()
        # Connections belong to the event loop on which they were opened.
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Redis] = WeakKeyDictionary()

    async def touch(self, ages: dict[UserConnectionIds, float]) -> set[str]:
        was_online = await self._own.touch(ages)
        for chunk in _chunks(list(ages.items())):
            names = [_key(user_id) for (user_id, _), _ in chunk]
            values = [value for (_, id), age in chunk for value in (id, round(age))]
            counts = await self._eval(TOUCH, names, EXPIRY_SECONDS, *values)
            found = zip((user_id for (user_id, _), _ in chunk), counts or (), strict=False)
            was_online |= {user_id for user_id, count in found if count}
        return was_online

    async def remove(self, closed: list[UserConnectionIds]) -> None:
        await self._own.remove(closed)
        for chunk in _chunks(closed):
            names = [_key(user_id) for user_id, _ in chunk]
            await self._eval(REMOVE, names, *(connection_id for _, connection_id in chunk))

    async def list_online(self, user_ids: list[str]) -> set[str]:
        online = await self._own.list_online(user_ids)
        for chunk in _chunks([user_id for user_id in user_ids if user_id not in online]):
            names = [_key(user_id) for user_id in chunk]
            counts = await self._eval(ALIVE, names, EXPIRY_SECONDS)
            found = zip(chunk, counts or (), strict=False)
            online |= {user_id for user_id, count in found if count}
        return online

    async def list_live_connections(self, user_id: str) -> set[str]:
        own = await self._own.list_live_connections(user_id)
        found = await self._eval(LIST_ALIVE, [_key(user_id)], EXPIRY_SECONDS)
        return own | {connection_id.decode() for connection_id in found or ()}

    async def _eval(self, script: str, names: list[str], *values: str | float) -> Any:
        """The result of a script, or None while Redis is unavailable."""
        if not redis_outage.can_try():
            return None
        try:
            with redis_outage.tracked():
                async with asyncio.timeout(redis_outage.timeout_seconds):
                    return await self._client().eval(script, len(names), *names, *values)
        except REDIS_ERRORS:
            return None

    def _client(self) -> Redis:
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            self._clients[loop] = Redis.from_url(self._url, retry=RETRY_ONCE)
        return self._clients[loop]


def _chunks(values: list[Value]) -> Iterator[list[Value]]:
    for start in range(0, len(values), MAX_CHUNK_SIZE):
        yield values[start : start + MAX_CHUNK_SIZE]


def _key(user_id: str) -> str:
    return f"{settings.REDIS_PREFIX}:presence:{user_id}"
