"""The users and threads of tests/threads."""

from inbox.search import queue
from tests.threads.conftest import buyer, delivered, seller, stranger, thread

__all__ = ["buyer", "delivered", "lose_noted", "seller", "stranger", "thread"]


def lose_noted() -> None:
    """Empties the queue of the search index, as a crash does."""
    for noted in queue.take_queued():
        queue.mark_done(noted)
