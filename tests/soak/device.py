"""A simulated page: shows and sends messages, syncs, and sends cursors as the real page does."""

import asyncio
import contextlib
import json
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from tests.soak.connection import DISCONNECT_ERRORS, RESPONSE_SECONDS, DeviceConnection
from tests.soak.device_log import Acknowledged, DeviceLog, Refused, Sent
from tests.soak.thread_view import ThreadView, Unsent

RETRY_SECONDS = 2.0
# A busy machine may not respond to the first attempts.
MAX_LOAD_ATTEMPTS = 10
MARK_DELAY_SECONDS = 0.3
# The first protocol version in which the server lists pending messages.
PENDING_PROTOCOL = 2


@dataclass(kw_only=True)
class Device(DeviceConnection):
    user: str
    views: dict[str, ThreadView]
    log: DeviceLog
    # The thread on the screen.
    visible: str
    # Whether the user sees the page, so that shown messages are read.
    is_active: bool = True
    # The last messages of this device: thread, message.
    own_messages: deque[tuple[str, str]] = field(default_factory=lambda: deque(maxlen=5))

    def on_connected(self, hello: dict[str, Any]) -> None:
        for view in self.views.values():
            # Own messages are never pending, so the page opens threads with accepted ones itself.
            if view.thread == self.visible or view.outbox or view.accepted > view.last_seq:
                self.open(view)
        self._open_pending(hello["pending"])

    def on_event(self, event: dict[str, Any]) -> None:
        handler = getattr(self, f"_on_{event['type'].replace('.', '_')}", None)
        if handler is not None:
            handler(event)

    def position(self) -> dict[str, Any]:
        view = self.views[self.visible]
        return {"thread": view.thread, "seq": view.last_seq, "rev": view.rev}

    def on_disconnected(self) -> None:
        for view in self.views.values():
            view.disconnected()

    async def load(self, thread: str) -> dict[str, str]:
        """Loads the newest page of a thread over a new connection."""
        for _ in range(MAX_LOAD_ATTEMPTS):
            with contextlib.suppress(*DISCONNECT_ERRORS):
                return await self._load(thread)
            await asyncio.sleep(RETRY_SECONDS)
        return await self._load(thread)

    async def _load(self, thread: str) -> dict[str, str]:
        async with self.connect() as socket, asyncio.timeout(RESPONSE_SECONDS):
            await socket.send(json.dumps({"type": "thread.open", "thread": thread}))
            while (event := json.loads(await socket.recv()))["type"] != "thread.synced":
                pass
            return {message["message"]: message["html"] for message in event["messages"]}

    # --- Actions of the user

    @property
    def unsent(self) -> int:
        return sum(len(view.outbox) for view in self.views.values())

    def show(self, thread: str) -> None:
        """Switches to another thread."""
        self.visible = thread
        self.open(self.views[thread])

    def write(self, thread: str, body: str) -> None:
        client_id = str(UUID(int=self.rng.getrandbits(128), version=4))
        view = self.views[thread]
        view.outbox[client_id] = Unsent(client_id, body, view.last_seq)
        if not view.synced:
            self.open(view)
        self._flush(view)

    def edit(self, body: str) -> None:
        if self.own_messages:
            thread, message = self.rng.choice(self.own_messages)
            self.send_frame("message.edit", thread=thread, message=message, body=body)

    def remove(self) -> None:
        if self.own_messages:
            thread, message = self.rng.choice(self.own_messages)
            self.send_frame("message.remove", thread=thread, message=message)

    def react(self) -> None:
        view = self.views[self.visible]
        fields = {"reaction": self.rng.choice("👍🎉👀"), "on": self.rng.random() < 0.7}
        self.send_frame("message.react", thread=view.thread, message=view.last_message, **fields)

    def drop(self, offline_seconds: float) -> None:
        """Drops the connection without a close frame."""
        self.offline_until = time.monotonic() + offline_seconds
        if self.socket is not None:
            self.socket.transport.abort()

    # --- Commands

    def open(self, view: ThreadView) -> None:
        position = {"after": view.last_message, "oldest": view.oldest, "rev": view.rev}
        if self.send_frame("thread.open", thread=view.thread, **position):
            view.requested_at = time.monotonic()

    def _flush(self, view: ThreadView) -> None:
        """Sends queued messages, only after the thread was synced, as the page does."""
        if not view.synced:
            return
        for unsent in view.outbox.values():
            if not unsent.is_in_flight:
                self._send_message(view, unsent)

    def _send_message(self, view: ThreadView, unsent: Unsent) -> None:
        unsent.is_in_flight = self.send_frame(
            "message.send",
            thread=view.thread,
            client_id=unsent.client_id,
            body=unsent.body,
            seen_seq=view.last_seq if self.is_active else 0,
            after_seq=unsent.after_seq,
        )
        if unsent.is_in_flight:
            sent = Sent(view.thread, unsent.client_id, unsent.body, self.connections, view.synced)
            self.log.record(sent)

    def _schedule_mark(self, view: ThreadView) -> None:
        is_read = self.is_active and view.thread == self.visible
        if view.last_seq > (view.read if is_read else view.delivered) and view.marking is None:
            view.marking = self.call_later(MARK_DELAY_SECONDS, lambda: self._mark(view))

    def _mark(self, view: ThreadView) -> None:
        view.marking = None
        is_read = self.is_active and view.thread == self.visible
        self.send_frame(
            "thread.mark_read" if is_read else "thread.mark_delivered",
            thread=view.thread,
            message=view.last_message,
            seq=view.last_seq,
            tally=view.last_tally,
        )

    # --- Events

    def _open_pending(self, pending: list[dict[str, Any]]) -> None:
        for entry in pending:
            view = self.views.get(entry["thread"])
            if view is None:
                continue
            self.counts["pending named"] += 1
            self.open(view)

    def _on_pong(self, event: dict[str, Any]) -> None:
        self._open_pending(event["pending"])
        for view in self.views.values():
            if view.requested_at and view.requested_at < time.monotonic() - RESPONSE_SECONDS:
                self.open(view)

    def _on_message_sent(self, event: dict[str, Any]) -> None:
        view = self.views.get(event["thread"])
        if view is None:
            return
        if not view.receive(event):
            self.counts["gaps noticed"] += 1
            if view.requested_at is None:
                self.open(view)
        self._schedule_mark(view)

    def _on_change(self, event: dict[str, Any]) -> None:
        view = self.views.get(event["thread"])
        if view is not None and not view.change(event):
            self.counts["gaps noticed"] += 1
            if view.requested_at is None:
                self.open(view)

    _on_message_edited = _on_message_removed = _on_message_reacted = _on_change

    def _on_thread_synced(self, event: dict[str, Any]) -> None:
        view = self.views[event["thread"]]
        view.requested_at = None
        for message in event["messages"]:
            view.receive(message, from_store=True)
        for changed in event["changed"]:
            view.apply_change(changed)
        if event["more"]:
            self.open(view)
            return
        view.rev = max(view.rev, event["rev"])
        view.synced = True
        for cursor in event["cursors"]:
            if cursor["user"] == self.user:
                view.update_cursor(cursor)
        self._flush(view)
        self._schedule_mark(view)

    def _on_cursor_moved(self, event: dict[str, Any]) -> None:
        view = self.views.get(event["thread"])
        if view is not None and event["user"] == self.user:
            view.update_cursor(event)

    def _on_message_accepted(self, event: dict[str, Any]) -> None:
        names = ("thread", "client_id", "message", "seq")
        fields = {name: event[name] for name in names}
        self.log.record(Acknowledged(**fields, connection=self.connections))
        view = self.views[event["thread"]]
        view.outbox.pop(event["client_id"], None)
        view.accepted = max(view.accepted, event["seq"])
        self.own_messages.append((event["thread"], event["message"]))

    def _on_error(self, event: dict[str, Any]) -> None:
        code, client_id = event["code"], event.get("client_id")
        self.counts[code] += 1
        self.log.record(Refused(code, client_id or "", self.connections))
        wait = max(RETRY_SECONDS, event.get("retry_after", 0)) * (1 + self.rng.random())
        if client_id is None:
            self.call_later(wait, self._retry_requests)
            return
        for view in self.views.values():
            if client_id in view.outbox:
                self._handle_refusal(view, view.outbox[client_id], code, wait)

    def _retry_requests(self) -> None:
        """Repeats openings and cursors, since a refusal does not name the refused frame."""
        for view in self.views.values():
            if view.requested_at is not None:
                self.open(view)
            self._schedule_mark(view)

    def _handle_refusal(self, view: ThreadView, unsent: Unsent, code: str, wait: float) -> None:
        if code in ("TRY_AGAIN", "RATE_LIMITED"):
            unsent.is_in_flight = False
            self.call_later(wait, lambda: self._flush(view))
        else:
            del view.outbox[unsent.client_id]
