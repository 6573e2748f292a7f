"""A thread as a device holds it: what is shown, how far, and what waits to be sent."""

import asyncio
import re
from dataclasses import dataclass, field
from typing import Any

from tests.soak.device_log import Shown, Witness


@dataclass
class Unsent:
    client_id: str
    body: str
    # Given to the connection of now; what became of it only an answer can say.
    handed: bool = False


@dataclass
class View:
    thread: str
    witness: Witness
    last_message: str
    last_seq: int
    last_tally: int
    ids: dict[int, str] = field(default_factory=dict)
    # How many changes besides messages are in what is shown, and which changed a message last.
    rev: int = 0
    revs: dict[str, int] = field(default_factory=dict)
    # Of this person, as the server last said.
    delivered: int = 0
    read: int = 0
    # Of this connection: caught up; asked for, and when.
    synced: bool = False
    asked_at: float | None = None
    marking: asyncio.TimerHandle | None = None
    # Survives every connection: what was not accepted yet, and the newest that was.
    outbox: dict[str, Unsent] = field(default_factory=dict)
    accepted: int = 0

    def hear(self, event: dict[str, Any], *, from_store: bool = False) -> bool:
        """Shows a message once, in its place. False: something is missing before it."""
        seq, message = event["seq"], event["message"]
        if seq <= self.last_seq:
            if self.ids.get(seq, message) != message:
                # Two messages under one number: never, and if it is so, it has to be told.
                self._show(event)
            # What is here already may have changed since: the answer to an opening says so.
            self.put(event | {"rev": rev_of(event["html"])})
            return True
        if seq > self.last_seq + 1 and not from_store:
            return False
        self._show(event)
        self.last_seq, self.last_message, self.last_tally = seq, message, event["tally"]
        self.ids[seq] = message
        self.revs[message] = rev_of(event["html"])
        return True

    def _show(self, event: dict[str, Any]) -> None:
        names = ("message", "seq", "client_id", "author", "body")
        self.witness.write(Shown(self.thread, **{name: event[name] for name in names}))
        self.witness.page[self.thread][event["message"]] = event["html"]

    def change(self, event: dict[str, Any]) -> bool:
        """A message was edited, removed or reacted to. False: something is missing before it."""
        is_next = event["rev"] <= self.rev + 1 and event["seq"] <= self.last_seq
        if is_next:
            self.put(event)
            self.rev = max(self.rev, event["rev"])
        return is_next

    def put(self, changed: dict[str, Any]) -> None:
        message = changed["message"]
        if changed["rev"] > self.revs.get(message, 0):
            self.revs[message] = changed["rev"]
            self.witness.page[self.thread][message] = changed["html"]

    @property
    def oldest(self) -> str:
        return self.ids[min(self.ids)]

    def disconnected(self) -> None:
        self.synced, self.asked_at = False, None
        if self.marking is not None:
            self.marking.cancel()
            self.marking = None
        for unsent in self.outbox.values():
            unsent.handed = False

    def note_cursor(self, cursor: dict[str, Any]) -> None:
        self.delivered = max(self.delivered, cursor["delivered_seq"])
        self.read = max(self.read, cursor["read_seq"])


def rev_of(html: str) -> int:
    found = re.search(r'data-rev="(\d+)"', html)
    return int(found[1]) if found else 0
