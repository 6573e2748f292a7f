"""The channel layer on Redis, for what we use it for: hints that may get lost.

By itself it lets every consumer die when Redis goes away, and does not notice that a Redis that is
back has forgotten who listens. This one fails nobody, holds up nobody, and joins again.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import Any

import redis
import structlog
from channels_redis.core import RedisChannelLayer

from realtime.outage import AWAY, PAUSE, redis_outage

log = structlog.get_logger(__name__)

JOINING = 10.0


class PatientRedisLayer(RedisChannelLayer):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # What this process's sockets have joined, whatever Redis remembers of it.
        self._joined: dict[str, set[str]] = defaultdict(set)
        self._mending: asyncio.Task[None] | None = None
        self._told_to_be_away: set[str] = set()

    # --- Nothing raises because Redis is away

    async def group_add(self, group: str, channel: str) -> None:
        self._joined[group].add(channel)
        if not await self._try(super().group_add, group, channel):
            self._mend()

    async def group_discard(self, group: str, channel: str) -> None:
        self._joined[group].discard(channel)
        if not self._joined[group]:
            del self._joined[group]
        self._told_to_be_away.discard(channel)
        await self._try(super().group_discard, group, channel)

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        await self._try(super().group_send, group, message)

    async def _try(self, action: Callable[..., Awaitable[None]], *arguments: Any) -> bool:
        if not redis_outage.is_worth_a_try():
            return False
        try:
            with redis_outage.watched():
                async with asyncio.timeout(redis_outage.patience):
                    await _once_more(action, *arguments)
        except AWAY:
            return False
        return True

    async def _clean_receive_backup(self, index: int, channel: str) -> None:
        try:
            await super()._clean_receive_backup(index, channel)
        except AWAY:
            # A frame may come twice, then; clients know it by its seq.
            log.info("backup_not_cleaned")

    # --- A socket hears that it is not live, waits, and hears that it is again

    async def receive(self, channel: str) -> dict[str, Any]:
        if mending := self._mending_now():
            return await self._away(channel, mending)
        if channel in self._told_to_be_away:
            self._told_to_be_away.remove(channel)
            return {"type": "live.changed", "live": True}
        try:
            return await super().receive(channel)
        except AWAY as error:
            redis_outage.begin(error)
            return await self._away(channel, self._mend())

    async def _away(self, channel: str, mending: asyncio.Task[None]) -> dict[str, Any]:
        if channel not in self._told_to_be_away:
            self._told_to_be_away.add(channel)
            return {"type": "live.changed", "live": False}
        await asyncio.shield(mending)
        return await self.receive(channel)

    def _mending_now(self) -> asyncio.Task[None] | None:
        return None if self._mending is None or self._mending.done() else self._mending

    def _mend(self) -> asyncio.Task[None]:
        self._mending = self._mending_now() or asyncio.ensure_future(self._join_again())
        return self._mending

    async def _join_again(self) -> None:
        while True:
            await asyncio.sleep(PAUSE)
            try:
                with redis_outage.watched():
                    async with asyncio.timeout(JOINING):
                        await self._join_all()
                break
            except AWAY:
                continue
        # Other processes may notice a moment later, and tell nobody anything until then.
        await asyncio.sleep(2 * PAUSE)

    async def _join_all(self) -> None:
        now = time.time()
        for index in range(self.ring_size):
            pipeline = self.connection(index).pipeline(transaction=False)
            for group, channels in self._joined.items():
                if self.consistent_hash(group) == index:
                    key = self._group_key(group)
                    pipeline.zadd(key, dict.fromkeys(channels, now))
                    pipeline.expire(key, self.group_expiry)
            await pipeline.execute()


async def _once_more(action: Callable[..., Awaitable[None]], *arguments: Any) -> None:
    """A Redis that was away leaves dead connections behind: the second try opens another.

    Not so for `receive`, where a broken connection says that Redis may have forgotten us.
    """
    try:
        await action(*arguments)
    except redis.ConnectionError:
        await action(*arguments)
