"""Presence and typing of a connection's user, and those of the users whose threads it has open."""

import asyncio
import contextlib
import time
from typing import Any

from asgiref.sync import sync_to_async

from accounts.models import User
from accounts.sign_in.user_agents import device_name
from core.refusals import Refusal
from realtime.broadcast import presence
from realtime.broadcast.delivery import publish
from realtime.broadcast.events import Event, PresenceChanged, TypingStarted, TypingStopped
from realtime.sockets.connection_writer import connection_writer, publish_presence
from realtime.sockets.subscriptions import PresenceSubscriptions, presence_group
from threads import cache
from threads.actions import connections
from threads.cache import CachedThread
from threads.forms import ThreadCommand
from threads.queries import list_blocked, list_last_seen


class PresenceMixin:
    """The part of the consumer for presence and typing."""

    user: User
    connection_id: str
    session: str
    channel_name: str
    scope: Any
    channel_layer: Any
    connection: connections.OpenConnection
    recorded_at: float
    active_at: float
    # Done when the closed connection is removed from the stores.
    removed: asyncio.Future[None] | None = None

    async def send_event(self, event: Event) -> None:
        raise NotImplementedError

    # --- The presence of the connection's own user

    def start_presence(self) -> None:
        self.subscriptions = PresenceSubscriptions()
        agent = dict(self.scope["headers"]).get(b"user-agent", b"").decode("latin1")
        self.connection = connections.OpenConnection(
            user_id=self.user.id,
            connection_id=self.connection_id,
            device=device_name(agent),
            session=self.session,
            connected_at=connections.now(),
        )
        self.recorded_at = time.monotonic()

    async def announce_connected(self) -> None:
        self.active_at = time.monotonic()
        connection_writer.add_opened(self.connection)
        if not await presence.touch(self.user.id, self.connection_id):
            await publish_presence(self.user.id, online=True)

    async def announce_disconnected(self) -> None:
        if self.active_at < 0:
            # The store was unavailable, so there was no hello.
            return
        for user_id in self.subscriptions.people:
            await self.channel_layer.group_discard(presence_group(user_id), self.channel_name)
        self.removed = connection_writer.add_closed(self.user.id, self.connection_id)

    # --- The presence of others

    async def open_thread(self, thread_id: str) -> None:
        cached = cache.peek(thread_id)
        if cached is None:
            cached = await sync_to_async(cache.get, thread_sensitive=False)(thread_id)
        people = await self._list_visible(cached)
        for user_id in self.subscriptions.open(thread_id, people):
            await self.channel_layer.group_add(presence_group(user_id), self.channel_name)
        alive = await presence.list_online(people)
        online = {user_id: user_id in alive for user_id in people}
        self.subscriptions.online |= online
        await self._send_presence(online, [thread_id])

    async def _list_visible(self, cached: CachedThread) -> set[str]:
        people = _visible_to(self.user.id, cached)
        if cached.is_group:
            # Blocks between two members of a group are not stored in the thread.
            find_blocked = sync_to_async(list_blocked, thread_sensitive=False)
            people -= await find_blocked(self.user, people)
        return people

    async def close_thread(self, frame: dict[str, Any]) -> None:
        await self._unsubscribe(ThreadCommand.parse(frame)["thread_id"])

    async def _unsubscribe(self, thread_id: str) -> None:
        for user_id in self.subscriptions.close(thread_id):
            await self.channel_layer.group_discard(presence_group(user_id), self.channel_name)

    async def refresh_thread(self, thread_id: str) -> None:
        """Subscribes again after a change of participants or blocks."""
        if thread_id not in self.subscriptions.threads:
            return
        await self._unsubscribe(thread_id)
        with contextlib.suppress(Refusal):
            cached = await sync_to_async(cache.get, thread_sensitive=False)(thread_id)
            if self.user.id in cached.people:
                await self.open_thread(thread_id)

    async def refresh_all_threads(self, message: dict[str, Any]) -> None:
        for thread_id in list(self.subscriptions.threads):
            await self.refresh_thread(thread_id)

    async def presence_refreshed(self, message: dict[str, Any]) -> None:
        await self._send_presence(message["changed"])

    async def presence_update(self, message: dict[str, Any]) -> None:
        self.subscriptions.online[message["user"]] = message["online"]
        await self._send_presence({message["user"]: message["online"]})

    async def _send_presence(
        self, changed: dict[str, bool], threads: list[str] | None = None
    ) -> None:
        away = [user_id for user_id, online in changed.items() if not online]
        seen = await sync_to_async(list_last_seen, thread_sensitive=False)(away) if away else {}
        for user_id, online in changed.items():
            for thread_id in threads or self.subscriptions.threads_with(user_id):
                event = PresenceChanged(
                    type="presence.changed",
                    thread=thread_id,
                    user=user_id,
                    online=online,
                    last_seen_at=seen.get(user_id, ""),
                )
                await self.send_event(event)

    # --- Typing

    async def publish_typing(self, frame: dict[str, Any]) -> None:
        """Typing is not stored; it is published to participants who have the thread open."""
        thread_id = ThreadCommand.parse(frame)["thread_id"]
        people = self.subscriptions.threads.get(thread_id, set())
        cached = cache.peek(thread_id)
        if cached is not None:
            # The cache may be newer than the subscriptions.
            people = people & _visible_to(self.user.id, cached)
        event: Event
        if frame["type"] == "typing.start":
            event = TypingStarted(type="typing.started", thread=thread_id, user=self.user.id)
        else:
            event = TypingStopped(type="typing.stopped", thread=thread_id, user=self.user.id)
        publish(event, to=people)


def _visible_to(user_id: str, cached: CachedThread) -> set[str]:
    """The participants whose activity this user may see."""
    me = cached.people.get(user_id)
    if me is None or (me.hides_activity and not cached.is_group):
        return set()
    return {person.user_id for person in cached.others(user_id)}
