"""The heartbeat of a page. Usually it does no I/O: it reads the stores only if events may be lost.

- Events were dropped on the way to this socket, or between processes, or a process fell silent
  (realtime/broadcast/gap_detector.py), or the events of a stored message were not published.
- The stored position of the thread on the screen, which the server reads for all sockets at a time
  (shared_checks.py), is ahead of the page.
- Once after the hello, since an index may lag, and every few minutes, for anything else.

Sessions are validated on a timer of the server (session_checks.py).
"""

import math
import random
import time
from collections.abc import Callable
from typing import Any

from asgiref.sync import sync_to_async

from accounts.models import User
from core.refusals import Refusal
from realtime.broadcast.channel_layer import ChannelQueue
from realtime.broadcast.events import Event, Pong
from realtime.broadcast.layer_adapter import find_gaps
from realtime.sockets.frames import encode
from realtime.sockets.subscriptions import PresenceSubscriptions
from realtime.sockets.sync import sync_if_behind
from threads.dynamodb.errors import StoreUnavailable
from threads.forms import CountField, ThreadCommand
from threads.queries import ThreadPosition, list_pending

# The minimum time between two reads, however often a client pings.
INTERVAL_SECONDS = 24.0
# The maximum time between two reads; each socket has its own, so that they are spread.
MIN_AGE_SECONDS, MAX_AGE_SECONDS = 240.0, 300.0
# Indexes may lag, so undelivered threads are read again soon after the hello.
FIRST_DELAY_SECONDS = 3.0


class ClientPosition(ThreadCommand):
    seq = CountField()
    rev = CountField()


class HeartbeatMixin:
    """The part of the consumer for pings."""

    user: User
    channel_layer: Any
    queue: ChannelQueue
    write: Callable[[str], bool]
    subscriptions: PresenceSubscriptions
    # Time of the last heartbeat, or of the hello.
    active_at = -math.inf
    # The thread on the screen at the last heartbeat, and its position according to the store.
    shown_thread = ""
    stored_position: ThreadPosition | None = None
    # Whether the next heartbeat must compare the page with the store.
    is_check_wanted = False
    is_first_check = True
    checked_at: float
    # The gaps of the channel layer at the last check.
    gaps: int | None

    async def send_event(self, event: Event) -> None:
        raise NotImplementedError

    def start_heartbeat(self) -> None:
        """Called before the pending threads are read for the hello."""
        self.checked_at = time.monotonic()
        self.gaps = find_gaps(self.channel_layer)
        self.max_age = random.uniform(MIN_AGE_SECONDS, MAX_AGE_SECONDS)

    async def answer_ping(self, frame: dict[str, Any]) -> None:
        if isinstance(frame.get("t"), list | dict):
            raise Refusal("BAD_FRAME", hint="Invalid: t.")
        self.active_at = time.monotonic()
        self._show(frame.get("thread"))
        if self._is_check_due(frame):
            await self._check(frame)
        else:
            await self._send_pong(frame, [])

    async def _send_pong(self, frame: dict[str, Any], pending: list[dict[str, Any]]) -> None:
        pong = Pong(type="pong", t=frame.get("t"), pending=pending)
        if not self.write(encode(pong)):
            await self.send_event(pong)

    def _show(self, thread_id: Any) -> None:
        shown = thread_id if isinstance(thread_id, str) else ""
        if shown != self.shown_thread:
            self.stored_position = None
            # A thread that is not open was not checked for access.
            self.shown_thread = shown if shown in self.subscriptions.threads else ""

    def _is_check_due(self, frame: dict[str, Any]) -> bool:
        age = self.active_at - self.checked_at
        if self.is_first_check:
            return age >= FIRST_DELAY_SECONDS
        if age < INTERVAL_SECONDS:
            return False
        return age >= self.max_age or self._may_lack_events() or self._is_behind(frame)

    def _may_lack_events(self) -> bool:
        gaps = find_gaps(self.channel_layer)
        return self.is_check_wanted or self.queue.has_dropped or gaps is None or gaps != self.gaps

    def _is_behind(self, frame: dict[str, Any]) -> bool:
        stored, seq, rev = self.stored_position, frame.get("seq"), frame.get("rev")
        if stored is None or not isinstance(seq, int) or not isinstance(rev, int):
            return False
        return stored.last_seq > seq or stored.rev > rev

    async def _check(self, frame: dict[str, Any]) -> None:
        gaps = find_gaps(self.channel_layer)
        self.checked_at, self.is_first_check = self.active_at, False
        self.is_check_wanted = self.queue.has_dropped = False
        self.stored_position = None
        try:
            pending = (await list_pending(self.user)).rows
            await self._send_pong(frame, pending)
            await self._sync_thread(frame)
        except StoreUnavailable:
            self.is_check_wanted = True
            raise
        self.gaps = gaps

    async def _sync_thread(self, frame: dict[str, Any]) -> None:
        if not frame.get("thread"):
            return
        position = ClientPosition.parse(frame)
        try:
            sync = sync_to_async(sync_if_behind, thread_sensitive=False)
            event = await sync(self.user, **position)
        except StoreUnavailable:
            raise
        except Refusal:
            return
        if event is not None:
            await self.send_event(event)

    async def recheck_delivery(self, message: dict[str, Any]) -> None:
        self.is_check_wanted = True
