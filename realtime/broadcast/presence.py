"""Who is online: alive within the last minute on any device. A hint, never a fact about delivery.

Kept where it is cheap: in memory with one process, in Redis with several. If Redis is away nothing
fails: a process then knows of its own connections only.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from functools import cache
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from django.conf import settings
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError

from core.redis_outage import REDIS_ERRORS, redis_outage

# A Redis that was away leaves dead connections behind: a second try opens another.
ONCE_MORE = Retry(NoBackoff(), 1, supported_errors=(ConnectionError,))
# A heartbeat comes every 25 s: two of them may get lost.
EXPIRY_SECONDS = 60


async def touch(user_id: str, connection_id: str) -> None:
    """On connect and at every heartbeat."""
    await _presence().touch(user_id, connection_id)


async def remove(user_id: str, connection_id: str) -> None:
    await _presence().remove(user_id, connection_id)


async def list_online(user_ids: Iterable[str]) -> set[str]:
    return await _presence().list_online(list(user_ids))


async def list_live_connections(user_id: str) -> set[str]:
    """Which of a person's connections: those of a server that died are not."""
    return await _presence().list_live_connections(user_id)


class Presence(Protocol):
    async def touch(self, user_id: str, connection_id: str) -> None: ...

    async def remove(self, user_id: str, connection_id: str) -> None: ...

    async def list_online(self, user_ids: list[str]) -> set[str]: ...

    async def list_live_connections(self, user_id: str) -> set[str]: ...


@cache
def _presence() -> Presence:
    return RedisPresence(settings.REDIS_URL) if settings.REDIS_URL else InMemoryPresence()


class InMemoryPresence:
    def __init__(self) -> None:
        self._alive_at: dict[str, dict[str, float]] = {}

    async def touch(self, user_id: str, connection_id: str) -> None:
        self._alive_at[user_id] = self._alive(user_id) | {connection_id: time.monotonic()}

    async def remove(self, user_id: str, connection_id: str) -> None:
        left = self._alive(user_id)
        left.pop(connection_id, None)
        if left:
            self._alive_at[user_id] = left
        else:
            self._alive_at.pop(user_id, None)

    async def list_online(self, user_ids: list[str]) -> set[str]:
        return {user_id for user_id in user_ids if self._alive(user_id)}

    async def list_live_connections(self, user_id: str) -> set[str]:
        return set(self._alive(user_id))

    def _alive(self, user_id: str) -> dict[str, float]:
        since = time.monotonic() - EXPIRY_SECONDS
        known = self._alive_at.get(user_id, {})
        return {connection_id: at for connection_id, at in known.items() if at > since}


# By the clock of Redis: the clocks of the processes may differ.
TOUCH = """
local now = redis.call('TIME')[1]
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2])
redis.call('EXPIRE', KEYS[1], ARGV[2])
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
    """For each person the connections that are alive, by when they last said so."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._own = InMemoryPresence()
        # Connections belong to the event loop on which they were opened.
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Redis] = WeakKeyDictionary()

    async def touch(self, user_id: str, connection_id: str) -> None:
        await self._own.touch(user_id, connection_id)
        await self._try(
            lambda redis: redis.eval(TOUCH, 1, _key(user_id), connection_id, EXPIRY_SECONDS)
        )

    async def remove(self, user_id: str, connection_id: str) -> None:
        await self._own.remove(user_id, connection_id)
        await self._try(lambda redis: redis.zrem(_key(user_id), connection_id))

    async def list_online(self, user_ids: list[str]) -> set[str]:
        known = await self._own.list_online(user_ids)
        others = [user_id for user_id in user_ids if user_id not in known]
        if not others:
            return known
        names = [_key(user_id) for user_id in others]
        counts = await self._try(
            lambda redis: redis.eval(ALIVE, len(names), *names, EXPIRY_SECONDS)
        )
        return known | {
            user_id for user_id, count in zip(others, counts or (), strict=False) if count
        }

    async def list_live_connections(self, user_id: str) -> set[str]:
        known = await self._own.list_live_connections(user_id)
        found = await self._try(
            lambda redis: redis.eval(LIST_ALIVE, 1, _key(user_id), EXPIRY_SECONDS)
        )
        return known | {connection_id.decode() for connection_id in found or ()}

    async def _try(self, ask: Callable[[Redis], Awaitable[Any]]) -> Any:
        """What Redis says, or None when it is away."""
        if not redis_outage.can_try():
            return None
        try:
            with redis_outage.tracked():
                async with asyncio.timeout(redis_outage.timeout_seconds):
                    return await ask(self._client())
        except REDIS_ERRORS:
            return None

    def _client(self) -> Redis:
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            self._clients[loop] = Redis.from_url(self._url, retry=ONCE_MORE)
        return self._clients[loop]


def _key(user_id: str) -> str:
    return f"{settings.REDIS_PREFIX}:presence:{user_id}"
