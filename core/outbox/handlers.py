"""The registry of handlers, by kind of entry.

A handler must be idempotent: after a crash its entry is processed again. It writes what is true
now rather than what the entry says, so that a late or repeated run changes nothing.
"""

from collections.abc import Callable

from core.outbox.models import OutboxEntry

Handler = Callable[[OutboxEntry], None]

HANDLERS: dict[str, Handler] = {}


class Postponed(Exception):
    """Raised by a handler whose change is not possible yet, such as a line in a locked thread."""


def register(kind: str, handler: Handler) -> None:
    HANDLERS[kind] = handler
