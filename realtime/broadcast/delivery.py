"""Publishes events to users, on all their connections and servers.

Events are addressed to users and not to rooms, so that a user who left a thread receives nothing
more, without unsubscribing. Delivery is at most once: clients detect missing messages by `seq`. So
a failed delivery is logged and affects nothing that is stored.
"""

import secrets
import time
from collections.abc import Iterable

import orjson
import structlog

from realtime.broadcast.channel_layer import LayerMessage
from realtime.broadcast.events import Event
from realtime.broadcast.layer_adapter import can_reach, send_to_groups

log = structlog.get_logger(__name__)

# The type of layer messages with an event.
BROADCAST = "broadcast.event"
# Identifies this process, whose cache has its own changes already.
ORIGIN = secrets.token_hex(8)


def group_of(user_id: str) -> str:
    return f"user.{user_id}"


def publish(event: Event, *, to: Iterable[str]) -> None:
    """Encodes the event once for all recipients."""
    text = orjson.dumps(event).decode()
    message: LayerMessage = {"type": BROADCAST, "event": event, "origin": ORIGIN, "text": text}
    message["at"] = time.monotonic()
    try:
        send_to_groups([group_of(user_id) for user_id in to], message)
    except Exception:
        log.exception("publish_failed", event_type=event["type"])


def list_reachable(user_ids: Iterable[str]) -> list[str]:
    """The users with connections; events for the others need not be built. Leaving them out counts
    as a publication, so that a process that has just started notices what it missed."""
    wanted = list(user_ids)
    reachable = [user_id for user_id in wanted if can_reach(group_of(user_id))]
    if len(reachable) < len(wanted):
        _send_control([], {"type": BROADCAST})
    return reachable


def end_session(user_id: str, session: str) -> None:
    """Closes the connections of one sign-in on all servers."""
    _send_control([user_id], {"type": "end.session", "session": session})


def recheck_sessions(user_id: str) -> None:
    """Makes all connections of a user validate their session."""
    _send_control([user_id], {"type": "recheck.session"})


def recheck_visibility(user_id: str) -> None:
    """Makes all connections of a user refresh whose presence they may show."""
    _send_control([user_id], {"type": "refresh.all.threads"})


def recheck_delivery(user_ids: Iterable[str]) -> None:
    """Makes the next heartbeat of these users compare their pages with the store."""
    _send_control(user_ids, {"type": "recheck.delivery"})


def _send_control(user_ids: Iterable[str], message: LayerMessage) -> None:
    try:
        send_to_groups([group_of(user_id) for user_id in user_ids], message)
    except Exception:
        # A later heartbeat or session check makes up for it.
        log.exception("publish_failed", control=message["type"])
