"""Detects that messages of the Redis bus may have been lost.

Every process numbers its publications, and counts those that it had to drop. A number that was
skipped is a lost message. A process that falls silent may have died between a write and its
publication. After either, clients are compared with the store (realtime/sockets/heartbeat.py).
"""

import time
from dataclasses import dataclass


@dataclass
class _Process:
    # The newest number that was received.
    number: int
    heard_at: float


class GapDetector:
    def __init__(self) -> None:
        # Increases whenever messages may have been lost.
        self.gaps = 0
        self._processes: dict[str, _Process] = {}

    def record(self, process_id: str, number: int, *, has_posts: bool) -> None:
        """Records a publication. One with posts has the next number, a signal the same one."""
        known = self._processes.setdefault(process_id, _Process(0, 0.0))
        if number > known.number + has_posts:
            self.gaps += 1
        # Signals use other connections to Redis, so they can be received late.
        known.number, known.heard_at = max(number, known.number), time.monotonic()

    def record_gap(self) -> None:
        self.gaps += 1

    def forget_silent(self, seconds: float) -> None:
        since = time.monotonic() - seconds
        for process_id in [id for id, one in self._processes.items() if one.heard_at < since]:
            del self._processes[process_id]
            self.gaps += 1
