"""How often somebody may do what costs little and often: buckets that fill again by themselves.

They are of this process, so that nobody waits for a store to be let through: several servers count
each for itself, and one that starts begins with full ones. What has to last is counted in the table
(threads/actions/rate_limits.py).
"""

import math
import threading
from collections import OrderedDict
from time import monotonic

from django.conf import settings

from core.refusals import Refusal

# People with buckets: those who have done nothing for longest, whose are full again, are forgotten.
MAX_BUCKETS = 10_000
MESSAGES = {
    "message": "You write faster than people read. You can write again in {wait}.",
    "people": "You're adding and removing people too quickly. Try again in {wait}.",
    "start": "You're starting conversations too quickly. Try again in {wait}.",
    "edit": "You're editing messages too quickly. Try again in {wait}.",
    "proposal": "You're making proposals too quickly. Try again in {wait}.",
    "search": "You have searched a lot in a short time. You can search again in {wait}.",
    "write": "You're making changes too quickly. Try again in {wait}.",
    "command": "You're making changes too quickly. Try again in {wait}.",
    "panel": "You're making changes too quickly. Try again in {wait}.",
    "reaction": "You're reacting too quickly. Try again in {wait}.",
    "report": "You're sending reports too quickly. Try again in {wait}.",
    "delivery": "You're delivering too quickly. Try again in {wait}.",
    "find": "You have looked for a lot of names in a short time. You can look again in {wait}.",
}


class TokenBucket:
    def __init__(self, *, rate: float, burst: int) -> None:
        self.rate, self.burst = rate, burst
        self.tokens, self.at = float(burst), monotonic()
        self.refused = 0

    def take(self) -> float:
        """0 if there was one; otherwise how many seconds until there is."""
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
    """Refuses with the seconds to wait, if somebody has done too much of it lately."""
    with _lock:
        wait = _bucket(what, user_id).take()
    if wait:
        seconds = math.ceil(wait)
        said = MESSAGES[what].format(wait=f"{seconds} second{'s' if seconds > 1 else ''}")
        hint = "Nothing that you typed is lost."
        raise Refusal("RATE_LIMITED", said, hint=hint, retry_after=seconds)


def _bucket(what: str, user_id: str) -> TokenBucket:
    at = (what, user_id)
    if at not in _buckets:
        at_once, a_minute = settings.PACES[what]
        _buckets[at] = TokenBucket(rate=a_minute / 60, burst=at_once)
    _buckets.move_to_end(at)
    while len(_buckets) > MAX_BUCKETS:
        _buckets.popitem(last=False)
    return _buckets[at]
