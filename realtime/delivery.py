"""Telling people what happened, wherever their sockets are.

Addressed to people, not to rooms: whoever left a thread hears nothing more, with nothing to
unsubscribe. It is at most once; what is lost here, clients find by seq. So a delivery that fails is
logged and harms nothing that is stored.
"""

from collections.abc import Iterable

import structlog
from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer

from realtime.events import Event

log = structlog.get_logger(__name__)


def group_of(user_id: str) -> str:
    return f"user.{user_id}"


def deliver(event: Event, *, to: Iterable[str]) -> None:
    for user_id in to:
        try:
            _send(group_of(user_id), {"type": "tell", "event": event})
        except Exception:
            log.exception("delivery_failed", event_type=event["type"], user=user_id)


def _send(group: str, message: dict[str, object]) -> None:
    layer = get_channel_layer()
    assert layer is not None
    async_to_sync(layer.group_send)(group, message)
