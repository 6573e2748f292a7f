"""What a device writes down of what it did and saw. It only ever adds to it."""

import json
import time
from collections import defaultdict
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Sent:
    """Handed to a connection; once more for every attempt."""

    thread: str
    client_id: str
    body: str
    connection: int
    # Whether this connection had caught up with the thread by then.
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
class Witness:
    device: str
    user: str
    # Thread -> the seq of the newest message on the page as it was first loaded.
    began_at: dict[str, int]
    # Thread -> message -> the fragment that the page shows of it now. This alone changes.
    page: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    entries: list[Entry] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    def write(self, entry: Entry) -> None:
        self.entries.append(entry)
        self.times.append(time.time())

    def of(self, kind: type) -> list[Any]:
        return [entry for entry in self.entries if isinstance(entry, kind)]

    def shown_by_thread(self) -> dict[str, list[Shown]]:
        shown: dict[str, list[Shown]] = defaultdict(list)
        for entry in self.of(Shown):
            shown[entry.thread].append(entry)
        return shown

    def save(self, folder: Path) -> None:
        with (folder / f"{self.device}.jsonl").open("w") as file:
            for moment, entry in zip(self.times, self.entries, strict=True):
                line = {"at": round(moment, 3), "what": type(entry).__name__, **asdict(entry)}
                file.write(json.dumps(line) + "\n")
