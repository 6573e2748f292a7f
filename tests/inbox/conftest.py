"""The same people and conversations as in the tests of threads."""

from inbox import noting
from tests.threads.conftest import buyer, delivered, seller, stranger, thread

__all__ = ["buyer", "delivered", "lose_noted", "seller", "stranger", "thread"]


def lose_noted() -> None:
    """What search was to take in, as a crash loses it."""
    for noted in noting.take_noted():
        noting.call_done(noted)
