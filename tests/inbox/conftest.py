"""The same people and conversations as in the tests of threads."""

from inbox.search import queue
from tests.threads.conftest import buyer, delivered, seller, stranger, thread

__all__ = ["buyer", "delivered", "lose_noted", "seller", "stranger", "thread"]


def lose_noted() -> None:
    """What search was to take in, as a crash loses it."""
    for noted in queue.take_queued():
        queue.mark_done(noted)
