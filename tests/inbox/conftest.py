"""The same people and conversations as in the tests of threads."""

from tests.threads.conftest import buyer, delivered, seller, stranger, thread

__all__ = ["buyer", "delivered", "seller", "stranger", "thread"]
