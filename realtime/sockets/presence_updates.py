"""Being there: who comes, who goes, who is typing; told to those who have the thread open."""

import contextlib
import time
from typing import Any

import structlog
from asgiref.sync import sync_to_async

from accounts.models import User
from accounts.sign_in.user_agents import device_name
from core.refusals import Refusal
from realtime.broadcast import presence
from realtime.broadcast.delivery import publish
from realtime.broadcast.events import Event, PresenceChanged, TypingStarted, TypingStopped
from realtime.sockets.subscriptions import PresenceSubscriptions, presence_group
from threads import cache
from threads.actions import connections
from threads.cache import CachedThread
from threads.forms import ThreadCommand
from threads.queries import list_blocked, list_last_seen

log = structlog.get_logger(__name__)

HOUR = 3600.0


class PresenceMixin:
    """Part of the socket."""

    user: User
    connection_id: str
    session: str
    channel_name: str
    scope: Any
    channel_layer: Any
    noted_at: float

    async def say(self, event: Event) -> None:
        raise NotImplementedError

    # --- Coming, staying, going

    async def arrive(self) -> None:
        self.watching = PresenceSubscriptions()
        self.since = connections.now()
        was_online = self.user.id in await presence.list_online([self.user.id])
        await presence.touch(self.user.id, self.connection_id)
        await self._note()
        if not was_online:
            await self._tell_presence(online=True)

    async def stay(self) -> None:
        await presence.touch(self.user.id, self.connection_id)
        if time.monotonic() - self.noted_at > HOUR:
            await self._note()
        await self._say_presence(await self.watching.look())

    async def depart(self) -> None:
        if not hasattr(self, "watching"):
            return
        for user_id in self.watching.people:
            await self.channel_layer.group_discard(presence_group(user_id), self.channel_name)
        await presence.remove(self.user.id, self.connection_id)
        await self._in_thread(connections.remove_connection, connection_id=self.connection_id)
        if self.user.id not in await presence.list_online([self.user.id]):
            await self._in_thread(connections.record_last_seen)
            await self._tell_presence(online=False)

    async def _note(self) -> None:
        self.noted_at = time.monotonic()
        agent = dict(self.scope["headers"]).get(b"user-agent", b"").decode("latin1")
        await self._in_thread(
            connections.record_connection,
            connection_id=self.connection_id,
            device=device_name(agent),
            session=self.session,
            since=self.since,
        )

    async def _in_thread(self, action: Any, **arguments: Any) -> None:
        """The list of connections is a convenience: no socket depends on its being written."""
        try:
            await sync_to_async(action, thread_sensitive=False)(self.user, **arguments)
        except Exception:
            log.exception("connection_not_noted", connection=self.connection_id)

    async def _tell_presence(self, *, online: bool) -> None:
        message = {"type": "presence.told", "user": self.user.id, "online": online}
        await self.channel_layer.group_send(presence_group(self.user.id), message)

    # --- Watching

    async def open_thread(self, thread_id: str) -> None:
        cached = cache.peek(thread_id)
        if cached is None:
            cached = await sync_to_async(cache.get, thread_sensitive=False)(thread_id)
        people = await self._visible(cached)
        for user_id in self.watching.open(thread_id, people):
            await self.channel_layer.group_add(presence_group(user_id), self.channel_name)
        alive = await presence.list_online(people)
        self.watching.online |= {user_id: user_id in alive for user_id in people}
        await self._say_presence({user_id: user_id in alive for user_id in people}, [thread_id])

    async def _visible(self, cached: CachedThread) -> set[str]:
        people = _visible_to(self.user.id, cached)
        if cached.is_group:
            # A block between two of many is not in the thread: both may go on writing there.
            ask = sync_to_async(list_blocked, thread_sensitive=False)
            people -= await ask(self.user, people)
        return people

    async def close_thread(self, frame: dict[str, Any]) -> None:
        thread_id = ThreadCommand.parse(frame)["thread_id"]
        for user_id in self.watching.close(thread_id):
            await self.channel_layer.group_discard(presence_group(user_id), self.channel_name)

    async def look_again(self, thread_id: str) -> None:
        """Somebody came, went or was blocked: who may be seen is another set now."""
        if thread_id not in self.watching.threads:
            return
        for user_id in self.watching.close(thread_id):
            await self.channel_layer.group_discard(presence_group(user_id), self.channel_name)
        with contextlib.suppress(Refusal):
            cached = await sync_to_async(cache.get, thread_sensitive=False)(thread_id)
            if self.user.id in cached.people:
                await self.open_thread(thread_id)

    async def look_again_everywhere(self, message: dict[str, Any]) -> None:
        for thread_id in list(self.watching.threads):
            await self.look_again(thread_id)

    async def presence_told(self, message: dict[str, Any]) -> None:
        self.watching.online[message["user"]] = message["online"]
        await self._say_presence({message["user"]: message["online"]})

    async def _say_presence(
        self, changed: dict[str, bool], threads: list[str] | None = None
    ) -> None:
        away = [user_id for user_id, online in changed.items() if not online]
        seen = await sync_to_async(list_last_seen, thread_sensitive=False)(away) if away else {}
        for user_id, online in changed.items():
            for thread_id in threads or self.watching.threads_with(user_id):
                event = PresenceChanged(
                    type="presence.changed",
                    thread=thread_id,
                    user=user_id,
                    online=online,
                    last_seen_at=seen.get(user_id, ""),
                )
                await self.say(event)

    # --- Typing

    async def type(self, frame: dict[str, Any]) -> None:
        """Never stored, never waited for: told to the others, if they have the thread open."""
        thread_id = ThreadCommand.parse(frame)["thread_id"]
        people = self.watching.threads.get(thread_id, set())
        cached = cache.peek(thread_id)
        if cached is not None:
            # What this process knows may be newer than what this socket was told.
            people = people & _visible_to(self.user.id, cached)
        event: Event
        if frame["type"] == "typing.start":
            event = TypingStarted(type="typing.started", thread=thread_id, user=self.user.id)
        else:
            event = TypingStopped(type="typing.stopped", thread=thread_id, user=self.user.id)
        publish(event, to=people)


def _visible_to(user_id: str, cached: CachedThread) -> set[str]:
    """Nothing passes between two who are apart, nor to whoever is not there any more."""
    me = cached.people.get(user_id)
    if me is None or (me.hides_activity and not cached.is_group):
        return set()
    return {person.user_id for person in cached.others(user_id)}
