"""A thread on a device: the messages shown, the cursors, and the unsent messages."""

import asyncio
import re
from dataclasses import dataclass, field
from typing import Any

from tests.soak.device_log import DeviceLog, Shown


@dataclass
class Unsent:
    client_id: str
    body: str
    # The newest message that the device had when this one was written.
    after_seq: int
    # Sent on the current connection and not yet answered.
    is_in_flight: bool = False


@dataclass
class ThreadView:
    thread: str
    log: DeviceLog
    last_message: str
    last_seq: int
    last_tally: int
    ids: dict[int, str] = field(default_factory=dict)
    # The revision of the shown state, and the last revision of each message.
    rev: int = 0
    revs: dict[str, int] = field(default_factory=dict)
    # Cursors of this user as last sent by the server.
    delivered: int = 0
    read: int = 0
    # State of this connection: synced, and when a sync was requested.
    synced: bool = False
    requested_at: float | None = None
    marking: asyncio.TimerHandle | None = None
    # Kept across connections: unaccepted messages, and the newest accepted seq.
    outbox: dict[str, Unsent] = field(default_factory=dict)
    accepted: int = 0

    def receive(self, event: dict[str, Any], *, from_store: bool = False) -> bool:
        """Shows a message once and in order; returns False if an earlier one is missing."""
        seq, message = event["seq"], event["message"]
        if seq <= self.last_seq:
            if self.ids.get(seq, message) != message:
                # Two messages with one seq are an error, which is logged for the checker.
                self._show(event)
            # A known message may have changed since; the sync contains its current fragment.
            self.apply_change(event | {"rev": rev_of(event["html"])})
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
        self.log.record(Shown(self.thread, **{name: event[name] for name in names}))
        self.log.page[self.thread][event["message"]] = event["html"]

    def change(self, event: dict[str, Any]) -> bool:
        """Applies an edit, removal or reaction; returns False if an earlier change is missing."""
        is_next = event["rev"] <= self.rev + 1 and event["seq"] <= self.last_seq
        if is_next:
            self.apply_change(event)
            self.rev = max(self.rev, event["rev"])
        return is_next

    def apply_change(self, changed: dict[str, Any]) -> None:
        message = changed["message"]
        if changed["rev"] > self.revs.get(message, 0):
            self.revs[message] = changed["rev"]
            self.log.page[self.thread][message] = changed["html"]

    @property
    def oldest(self) -> str:
        return self.ids[min(self.ids)]

    def disconnected(self) -> None:
        self.synced, self.requested_at = False, None
        if self.marking is not None:
            self.marking.cancel()
            self.marking = None
        for unsent in self.outbox.values():
            unsent.is_in_flight = False

    def update_cursor(self, cursor: dict[str, Any]) -> None:
        self.delivered = max(self.delivered, cursor["delivered_seq"])
        self.read = max(self.read, cursor["read_seq"])


def rev_of(html: str) -> int:
    found = re.search(r'data-rev="(\d+)"', html)
    return int(found[1]) if found else 0
