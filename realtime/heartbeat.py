"""At every heartbeat of a page: is it still allowed, is anything waiting or missing?"""

import time
from typing import Any

from asgiref.sync import sync_to_async
from channels.db import database_sync_to_async

from accounts import sessions
from accounts.models import User
from accounts.refusals import Refusal
from realtime.events import Event, Pong
from realtime.syncing import sync_if_behind
from threads.forms import Command, Count
from threads.queries import list_pending

EVERY = 24.0
# An index may lag: what was missed just before is asked for once more soon after the hello.
SOON = 3.0
SIGNED_OUT = 4401


class WhatIsShown(Command):
    seq = Count()
    rev = Count()


class Heartbeat:
    """Part of the socket. Looks at the stores at most every 25 s, however often a client pings."""

    user: User
    session_key: str
    told_pending_at: float
    is_first_beat = True
    beat_at = 0.0

    async def say(self, event: Event) -> None:
        raise NotImplementedError

    async def beat(self, frame: dict[str, Any]) -> None:
        if isinstance(frame.get("t"), list | dict):
            raise Refusal("BAD_FRAME", hint="Not right: t.")
        now = time.monotonic()
        due = now - self.beat_at >= EVERY
        soon = self.is_first_beat and now - self.told_pending_at >= SOON
        pending: list[dict[str, Any]] = []
        if due or soon:
            self.is_first_beat, self.beat_at = False, now
            if not await self.is_signed_in():
                await self.close(SIGNED_OUT)  # type: ignore[attr-defined]
                return
            pending, _ = await sync_to_async(list_pending, thread_sensitive=False)(self.user)
        await self.say(Pong(type="pong", t=frame.get("t"), pending=pending))
        if due or soon:
            await self.stay()  # type: ignore[attr-defined]
            await self._bring_up_to_date(frame)

    async def _bring_up_to_date(self, frame: dict[str, Any]) -> None:
        if not frame.get("thread"):
            return
        shown = WhatIsShown.read(frame)
        try:
            event = await sync_to_async(sync_if_behind, thread_sensitive=False)(self.user, **shown)
        except Refusal:
            return
        if event is not None:
            await self.say(event)

    async def is_signed_in(self) -> bool:
        check = database_sync_to_async(sessions.is_signed_in)
        return await check(self.session_key, self.user.id)
