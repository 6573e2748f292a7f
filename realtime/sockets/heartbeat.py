"""At every heartbeat of a page: is anything waiting or missing?

The session is checked on a timer of the server (session_checks.py), so a heartbeat needs no SQL.
"""

import time
from typing import Any

from asgiref.sync import sync_to_async

from accounts.models import User
from core.refusals import Refusal
from realtime.broadcast.events import Event, Pong
from realtime.sockets.sync import sync_if_behind
from threads.forms import CountField, ThreadCommand
from threads.queries import list_pending

EVERY = 24.0
# An index may lag: what was missed just before is asked for once more soon after the hello.
SOON = 3.0


class ClientPosition(ThreadCommand):
    seq = CountField()
    rev = CountField()


class HeartbeatMixin:
    """Part of the socket. Looks at the stores at most every 25 s, however often a client pings."""

    user: User
    pending_sent_at: float
    is_first_beat = True
    beat_at = 0.0

    async def say(self, event: Event) -> None:
        raise NotImplementedError

    async def beat(self, frame: dict[str, Any]) -> None:
        if isinstance(frame.get("t"), list | dict):
            raise Refusal("BAD_FRAME", hint="Not right: t.")
        now = time.monotonic()
        due = now - self.beat_at >= EVERY
        soon = self.is_first_beat and now - self.pending_sent_at >= SOON
        pending: list[dict[str, Any]] = []
        if due or soon:
            self.is_first_beat, self.beat_at = False, now
            pending, _ = await sync_to_async(list_pending, thread_sensitive=False)(self.user)
        await self.say(Pong(type="pong", t=frame.get("t"), pending=pending))
        if due or soon:
            await self.stay()  # type: ignore[attr-defined]
            await self._bring_up_to_date(frame)

    async def _bring_up_to_date(self, frame: dict[str, Any]) -> None:
        if not frame.get("thread"):
            return
        shown = ClientPosition.parse(frame)
        try:
            event = await sync_to_async(sync_if_behind, thread_sensitive=False)(self.user, **shown)
        except Refusal:
            return
        if event is not None:
            await self.say(event)
