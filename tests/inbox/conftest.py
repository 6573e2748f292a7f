"""The users and threads of tests/threads."""

from inbox.search import queue
from tests.threads.conftest import buyer, delivered, seller, stranger, thread

__all__ = ["buyer", "delivered", "discard_queue", "seller", "stranger", "thread"]


def discard_queue() -> None:
    """Empties the queue of the search index, as a crash does."""
    for queued in queue.take_queued():
        queue.mark_done(queued)
