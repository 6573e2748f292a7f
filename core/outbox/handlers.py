"""The registry of outbox handlers, by kind of entry.

A handler must be idempotent, because an entry is processed again after a crash. It should write the
current state rather than the payload, so that a late or repeated run has no effect.
"""

from collections.abc import Callable

from core.outbox.models import OutboxEntry

Handler = Callable[[OutboxEntry], None]

HANDLERS: dict[str, Handler] = {}


class Postponed(Exception):
    """Raised by a handler if its change is not possible yet, as in a locked thread."""


def register(kind: str, handler: Handler) -> None:
    HANDLERS[kind] = handler
