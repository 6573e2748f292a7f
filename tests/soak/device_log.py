"""The append-only log of what a device sent and showed."""

import json
import time
from collections import defaultdict
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Sent:
    """A message sent on a connection; one entry for each attempt."""

    thread: str
    client_id: str
    body: str
    connection: int
    # Whether the thread was synced on this connection at that time.
    synced: bool = True


@dataclass(frozen=True)
class Acknowledged:
    thread: str
    client_id: str
    message: str
    seq: int
    connection: int


@dataclass(frozen=True)
class Refused:
    code: str
    client_id: str
    connection: int


@dataclass(frozen=True)
class Shown:
    thread: str
    message: str
    seq: int
    client_id: str | None
    author: str | None
    body: str


Entry = Sent | Acknowledged | Refused | Shown


@dataclass
class DeviceLog:
    device: str
    user: str
    # Thread -> seq of the newest message when the page was first loaded.
    first_seqs: dict[str, int]
    # Thread -> message -> the fragment currently shown; the only part that changes.
    page: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    entries: list[Entry] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    def record(self, entry: Entry) -> None:
        self.entries.append(entry)
        self.times.append(time.time())

    def list_entries(self, kind: type) -> list[Any]:
        return [entry for entry in self.entries if isinstance(entry, kind)]

    def shown_by_thread(self) -> dict[str, list[Shown]]:
        shown: dict[str, list[Shown]] = defaultdict(list)
        for entry in self.list_entries(Shown):
            shown[entry.thread].append(entry)
        return shown

    def save(self, folder: Path) -> None:
        with (folder / f"{self.device}.jsonl").open("w") as file:
            for moment, entry in zip(self.times, self.entries, strict=True):
                line = {"at": round(moment, 3), "what": type(entry).__name__, **asdict(entry)}
                file.write(json.dumps(line) + "\n")
