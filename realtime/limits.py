"""How much one socket may say: a bucket that fills by itself."""

import time


class Bucket:
    def __init__(self, *, rate: float, burst: int) -> None:
        self.rate, self.burst = rate, burst
        self.tokens, self.at = float(burst), time.monotonic()
        self.refused = 0

    def take(self) -> float:
        """0 if there was one; otherwise how many seconds until there is."""
        now = time.monotonic()
        self.tokens = min(self.burst, self.tokens + (now - self.at) * self.rate)
        self.at = now
        if self.tokens >= 1:
            self.tokens -= 1
            self.refused = 0
            return 0.0
        self.refused += 1
        return (1 - self.tokens) / self.rate
