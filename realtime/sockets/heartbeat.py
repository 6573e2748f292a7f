"""The heartbeat of a page: returns undelivered threads, and what the open thread lacks.

Sessions are validated on a timer of the server (session_checks.py), so a heartbeat needs no SQL.
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

INTERVAL_SECONDS = 24.0
# Indexes may lag, so undelivered threads are read again soon after the hello.
FIRST_DELAY_SECONDS = 3.0


class ClientPosition(ThreadCommand):
    seq = CountField()
    rev = CountField()


class HeartbeatMixin:
    """The part of the consumer for pings. Reads the stores at most every 24 seconds, however often
    a client pings."""

    user: User
    pending_sent_at: float
    is_first_ping = True
    checked_at = 0.0

    async def send_event(self, event: Event) -> None:
        raise NotImplementedError

    async def answer_ping(self, frame: dict[str, Any]) -> None:
        if isinstance(frame.get("t"), list | dict):
            raise Refusal("BAD_FRAME", hint="Invalid: t.")
        is_due = self._is_check_due()
        pending: list[dict[str, Any]] = []
        if is_due:
            self.is_first_ping, self.checked_at = False, time.monotonic()
            pending, _ = await sync_to_async(list_pending, thread_sensitive=False)(self.user)
        await self.send_event(Pong(type="pong", t=frame.get("t"), pending=pending))
        if is_due:
            await self.refresh_presence()  # type: ignore[attr-defined]
            await self._sync_thread(frame)

    def _is_check_due(self) -> bool:
        now = time.monotonic()
        if now - self.checked_at >= INTERVAL_SECONDS:
            return True
        return self.is_first_ping and now - self.pending_sent_at >= FIRST_DELAY_SECONDS

    async def _sync_thread(self, frame: dict[str, Any]) -> None:
        if not frame.get("thread"):
            return
        position = ClientPosition.parse(frame)
        try:
            sync = sync_to_async(sync_if_behind, thread_sensitive=False)
            event = await sync(self.user, **position)
        except Refusal:
            return
        if event is not None:
            await self.send_event(event)
