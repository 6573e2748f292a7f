"""Stores which connections are open, for many connections in one request.

A page that is left and the page that is opened next are a close and an open within a moment: with
the delay they change neither presence nor the user's last-seen time.
"""

import asyncio
from collections.abc import Iterable
from typing import Any

import structlog
from channels.layers import get_channel_layer

from realtime.broadcast import presence
from realtime.sockets.subscriptions import presence_group
from threads.actions.connections import OpenConnection, record_last_seen, write_connections
from threads.dynamodb.errors import StoreUnavailable

log = structlog.get_logger(__name__)

DELAY_SECONDS = 0.25
# Users who went offline are stored one by one, so many at a time.
MAX_CONCURRENT = 8


class ConnectionWriter:
    def __init__(self) -> None:
        self._opened: dict[str, OpenConnection] = {}
        # The users of closed connections, by connection id.
        self._closed: dict[str, str] = {}
        self._flushed: asyncio.Future[None] | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def is_busy(self) -> bool:
        return self._task is not None and not self._task.done()

    def add_opened(self, connection: OpenConnection) -> None:
        self._opened[connection.connection_id] = connection
        self._schedule()

    def add_closed(self, user_id: str, connection_id: str) -> asyncio.Future[None]:
        """Returns a future that is done when the connection is removed."""
        self._opened.pop(connection_id, None)
        self._closed[connection_id] = user_id
        return self._schedule()

    def _schedule(self) -> asyncio.Future[None]:
        loop = asyncio.get_running_loop()
        if self._task is None or not self.is_busy or self._task.get_loop() is not loop:
            self._flushed = None
            self._task = loop.create_task(self._run())
        self._flushed = self._flushed or loop.create_future()
        return self._flushed

    async def _run(self) -> None:
        """One batch at a time: a connection may be recorded in one and removed in the next."""
        while self._opened or self._closed:
            await asyncio.sleep(DELAY_SECONDS)
            opened, self._opened = self._opened, {}
            closed, self._closed = self._closed, {}
            flushed, self._flushed = self._flushed, None
            try:
                await self._write(opened.values(), [(user, id) for id, user in closed.items()])
            except StoreUnavailable:
                # Items of closed connections expire, and pages do not depend on being recorded.
                log.warning("connection_record_failed", opened=len(opened), closed=len(closed))
            except Exception:
                log.exception("connection_record_failed", opened=len(opened), closed=len(closed))
            if flushed is not None:
                flushed.set_result(None)

    async def _write(self, opened: Iterable[OpenConnection], closed: list[tuple[str, str]]) -> None:
        await presence.remove_all(closed)
        users = {user_id for user_id, _ in closed}
        offline = users - await presence.list_online(users)
        try:
            await write_connections(opened, closed)
            await _record_last_seen(sorted(offline))
        finally:
            for user_id in offline - await presence.list_online(offline):
                await publish_presence(user_id, online=False)


async def _record_last_seen(user_ids: list[str]) -> None:
    for start in range(0, len(user_ids), MAX_CONCURRENT):
        chunk = user_ids[start : start + MAX_CONCURRENT]
        await asyncio.gather(*(record_last_seen(user_id) for user_id in chunk))


async def publish_presence(user_id: str, *, online: bool) -> None:
    layer: Any = get_channel_layer()
    message = {"type": "presence.update", "user": user_id, "online": online}
    await layer.group_send(presence_group(user_id), message)


connection_writer = ConnectionWriter()
