"""Rate limits per user: token buckets in memory.

Each process has its own buckets, so that a check needs no store. Limits that must hold across
processes and restarts are counted in DynamoDB (threads/models/rate_buckets.py).
"""

import math
import threading
from collections import OrderedDict
from time import monotonic

from django.conf import settings

from core.refusals import Refusal

# The least recently used buckets, which are full again, are discarded.
MAX_BUCKETS = 10_000
# Used for several limits.
_CHANGES = "You're making changes too quickly. Try again in {wait}."
_SEARCHES = "You're searching too quickly. Try again in {wait}."
MESSAGES = {
    "message": "You're sending too quickly. Try again in {wait}.",
    "people": "You're adding and removing people too quickly. Try again in {wait}.",
    "start": "You're starting conversations too quickly. Try again in {wait}.",
    "edit": "You're editing messages too quickly. Try again in {wait}.",
    "proposal": "You're making proposals too quickly. Try again in {wait}.",
    "search": _SEARCHES,
    "write": _CHANGES,
    "command": _CHANGES,
    "panel": _CHANGES,
    "reaction": "You're reacting too quickly. Try again in {wait}.",
    "report": "You're sending reports too quickly. Try again in {wait}.",
    "delivery": "You're delivering too quickly. Try again in {wait}.",
    "find": _SEARCHES,
    "calendar": _CHANGES,
    "calendar_link": "This calendar is requested too often. Try again in {wait}.",
}


class TokenBucket:
    def __init__(self, *, rate: float, burst: int) -> None:
        self.rate, self.burst = rate, burst
        self.tokens, self.at = float(burst), monotonic()
        self.refused = 0

    def take(self) -> float:
        """Takes a token; returns 0, or the seconds until one is available."""
        now = monotonic()
        self.tokens = min(self.burst, self.tokens + (now - self.at) * self.rate)
        self.at = now
        if self.tokens >= 1:
            self.tokens -= 1
            self.refused = 0
            return 0.0
        self.refused += 1
        return (1 - self.tokens) / self.rate


_buckets: OrderedDict[tuple[str, str], TokenBucket] = OrderedDict()
_lock = threading.Lock()


def check_rate_limit(what: str, user_id: str) -> None:
    """Raises RATE_LIMITED, with the seconds to wait, if the user has no token left."""
    with _lock:
        wait = _bucket(what, user_id).take()
    if wait:
        seconds = math.ceil(wait)
        message = MESSAGES[what].format(wait=f"{seconds} second{'s' if seconds > 1 else ''}")
        hint = "Nothing you typed is lost."
        raise Refusal("RATE_LIMITED", message, hint=hint, retry_after=seconds)


def _bucket(what: str, user_id: str) -> TokenBucket:
    key = (what, user_id)
    if key not in _buckets:
        burst, per_minute = settings.PACES[what]
        _buckets[key] = TokenBucket(rate=per_minute / 60, burst=burst)
    _buckets.move_to_end(key)
    while len(_buckets) > MAX_BUCKETS:
        _buckets.popitem(last=False)
    return _buckets[key]
