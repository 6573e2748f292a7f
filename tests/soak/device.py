"""A page without a browser: it shows, catches up, sends and says what was seen as ours does."""

import asyncio
import contextlib
import json
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from tests.soak.connection import GONE, SILENCE, Line
from tests.soak.device_log import Acknowledged, Refused, Sent, Witness
from tests.soak.thread_view import Unsent, View

AGAIN = 2.0
# A machine with much to do may not answer at once.
MOST_LOADS = 10
MARK_AFTER = 0.3
# From this protocol on the server names what was missed.
NAMES_PENDING = 2


@dataclass(kw_only=True)
class Device(Line):
    user: str
    views: dict[str, View]
    witness: Witness
    # The thread on the screen.
    visible: str
    # Somebody looks at it: what is shown is read.
    looked_at: bool = True
    # What this device wrote last: thread, message.
    mine: deque[tuple[str, str]] = field(default_factory=lambda: deque(maxlen=5))

    def begin(self, hello: dict[str, Any]) -> None:
        for view in self.views.values():
            # One's own words are pending for nobody: a page knows them since they were accepted.
            if view.thread == self.visible or view.outbox or view.accepted > view.last_seq:
                self.open(view)
        self._catch_up(hello["pending"])

    def hear(self, event: dict[str, Any]) -> None:
        handler = getattr(self, f"_on_{event['type'].replace('.', '_')}", None)
        if handler is not None:
            handler(event)

    def place(self) -> dict[str, Any]:
        view = self.views[self.visible]
        return {"thread": view.thread, "seq": view.last_seq, "rev": view.rev}

    def over(self) -> None:
        for view in self.views.values():
            view.disconnected()

    async def load(self, thread: str) -> dict[str, str]:
        """The newest page of a thread, by a connection that knows nothing of before."""
        for _ in range(MOST_LOADS):
            with contextlib.suppress(*GONE):
                return await self._load(thread)
            await asyncio.sleep(AGAIN)
        return await self._load(thread)

    async def _load(self, thread: str) -> dict[str, str]:
        async with self.connect() as socket, asyncio.timeout(SILENCE):
            await socket.send(json.dumps({"type": "thread.open", "thread": thread}))
            while (event := json.loads(await socket.recv()))["type"] != "thread.synced":
                pass
            return {message["message"]: message["html"] for message in event["messages"]}

    # --- What the person does

    @property
    def unsent(self) -> int:
        return sum(len(view.outbox) for view in self.views.values())

    def show(self, thread: str) -> None:
        """Another conversation on the screen."""
        self.visible = thread
        self.open(self.views[thread])

    def write(self, thread: str, body: str) -> None:
        client_id = str(UUID(int=self.rng.getrandbits(128), version=4))
        view = self.views[thread]
        view.outbox[client_id] = Unsent(client_id, body)
        if not view.synced:
            self.open(view)
        self._flush(view)

    def edit(self, body: str) -> None:
        if self.mine:
            thread, message = self.rng.choice(self.mine)
            self.say("message.edit", thread=thread, message=message, body=body)

    def remove(self) -> None:
        if self.mine:
            thread, message = self.rng.choice(self.mine)
            self.say("message.remove", thread=thread, message=message)

    def react(self) -> None:
        view = self.views[self.visible]
        fields = {"reaction": self.rng.choice("👍🎉👀"), "on": self.rng.random() < 0.7}
        self.say("message.react", thread=view.thread, message=view.last_message, **fields)

    def drop(self, away: float) -> None:
        """The lid is closed, the tunnel begins: nobody says goodbye."""
        self.away_until = time.monotonic() + away
        if self.socket is not None:
            self.socket.transport.abort()

    # --- Commands

    def open(self, view: View) -> None:
        place = {"after": view.last_message, "oldest": view.oldest, "rev": view.rev}
        if self.say("thread.open", thread=view.thread, **place):
            view.asked_at = time.monotonic()

    def _flush(self, view: View) -> None:
        """Only after the thread was caught up with, as the page does it."""
        if not view.synced:
            return
        for unsent in view.outbox.values():
            if not unsent.handed:
                self._hand_over(view, unsent)

    def _hand_over(self, view: View, unsent: Unsent) -> None:
        unsent.handed = self.say(
            "message.send",
            thread=view.thread,
            client_id=unsent.client_id,
            body=unsent.body,
            seen_seq=view.last_seq if self.looked_at else 0,
        )
        if unsent.handed:
            sent = Sent(view.thread, unsent.client_id, unsent.body, self.connections, view.synced)
            self.witness.write(sent)

    def _mark_soon(self, view: View) -> None:
        is_read = self.looked_at and view.thread == self.visible
        if view.last_seq > (view.read if is_read else view.delivered) and view.marking is None:
            view.marking = self.later(MARK_AFTER, lambda: self._mark(view))

    def _mark(self, view: View) -> None:
        view.marking = None
        is_read = self.looked_at and view.thread == self.visible
        self.say(
            "thread.mark_read" if is_read else "thread.mark_delivered",
            thread=view.thread,
            message=view.last_message,
            seq=view.last_seq,
            tally=view.last_tally,
        )

    # --- Events

    def _catch_up(self, pending: list[dict[str, Any]]) -> None:
        for one in pending:
            view = self.views.get(one["thread"])
            if view is None:
                continue
            self.counts["pending named"] += 1
            self.open(view)

    def _on_pong(self, event: dict[str, Any]) -> None:
        self._catch_up(event["pending"])
        for view in self.views.values():
            if view.asked_at and view.asked_at < time.monotonic() - SILENCE:
                self.open(view)

    def _on_message_sent(self, event: dict[str, Any]) -> None:
        view = self.views.get(event["thread"])
        if view is None:
            return
        if not view.hear(event):
            self.counts["gaps noticed"] += 1
            if view.asked_at is None:
                self.open(view)
        self._mark_soon(view)

    def _on_change(self, event: dict[str, Any]) -> None:
        view = self.views.get(event["thread"])
        if view is not None and not view.change(event):
            self.counts["gaps noticed"] += 1
            if view.asked_at is None:
                self.open(view)

    _on_message_edited = _on_message_removed = _on_message_reacted = _on_change

    def _on_thread_synced(self, event: dict[str, Any]) -> None:
        view = self.views[event["thread"]]
        view.asked_at = None
        for message in event["messages"]:
            view.hear(message, from_store=True)
        for changed in event["changed"]:
            view.put(changed)
        if event["more"]:
            self.open(view)
            return
        view.rev = max(view.rev, event["rev"])
        view.synced = True
        for cursor in event["cursors"]:
            if cursor["user"] == self.user:
                view.note_cursor(cursor)
        self._flush(view)
        self._mark_soon(view)

    def _on_cursor_moved(self, event: dict[str, Any]) -> None:
        view = self.views.get(event["thread"])
        if view is not None and event["user"] == self.user:
            view.note_cursor(event)

    def _on_message_accepted(self, event: dict[str, Any]) -> None:
        names = ("thread", "client_id", "message", "seq")
        fields = {name: event[name] for name in names}
        self.witness.write(Acknowledged(**fields, connection=self.connections))
        view = self.views[event["thread"]]
        view.outbox.pop(event["client_id"], None)
        view.accepted = max(view.accepted, event["seq"])
        self.mine.append((event["thread"], event["message"]))

    def _on_error(self, event: dict[str, Any]) -> None:
        code, client_id = event["code"], event.get("client_id")
        self.counts[code] += 1
        self.witness.write(Refused(code, client_id or "", self.connections))
        wait = max(AGAIN, event.get("retry_after", 0)) * (1 + self.rng.random())
        if client_id is None:
            self.later(wait, self._ask_again)
            return
        for view in self.views.values():
            if client_id in view.outbox:
                self._refused(view, view.outbox[client_id], code, wait)

    def _ask_again(self) -> None:
        """An opening or a cursor was refused; which one, the answer does not say."""
        for view in self.views.values():
            if view.asked_at is not None:
                self.open(view)
            self._mark_soon(view)

    def _refused(self, view: View, unsent: Unsent, code: str, wait: float) -> None:
        if code in ("TRY_AGAIN", "RATE_LIMITED"):
            unsent.handed = False
            self.later(wait, lambda: self._flush(view))
        else:
            del view.outbox[unsent.client_id]
