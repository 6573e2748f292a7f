"""Telling people what happened, wherever their sockets are.

Addressed to people, not to rooms: whoever left a thread hears nothing more, with nothing to
unsubscribe. It is at most once; what is lost here, clients find by seq. So a delivery that fails is
logged and harms nothing that is stored.
"""

import secrets
import time
from collections.abc import Iterable
from typing import Any

import orjson
import structlog

from realtime.broadcast.any_layer import send_to_groups
from realtime.broadcast.events import Event

log = structlog.get_logger(__name__)

Message = dict[str, Any]

# This process: what it told itself, it need not learn.
ORIGIN = secrets.token_hex(8)


def group_of(user_id: str) -> str:
    return f"user.{user_id}"


def publish(event: Event, *, to: Iterable[str]) -> None:
    """Encoded once, however many hear it."""
    text = orjson.dumps(event).decode()
    message: Message = {"type": "tell", "event": event, "origin": ORIGIN, "text": text}
    message["at"] = time.monotonic()
    try:
        send_to_groups([group_of(user_id) for user_id in to], message)
    except Exception:
        log.exception("delivery_failed", event_type=event["type"])


def end_session(user_id: str, session: str) -> None:
    """Closes the sockets of one sign-in, on whatever server they are."""
    _tell_sockets(user_id, {"type": "end.session", "session": session})


def recheck_sessions(user_id: str) -> None:
    """Makes every socket of a person look whether its sign-in still counts."""
    _tell_sockets(user_id, {"type": "recheck.session"})


def recheck_visibility(user_id: str) -> None:
    """Whom a person may see in what they have open is another set now."""
    _tell_sockets(user_id, {"type": "look.again.everywhere"})


def _tell_sockets(user_id: str, message: Message) -> None:
    try:
        send_to_groups([group_of(user_id)], message)
    except Exception:
        # They find out at their next heartbeat.
        log.exception("delivery_failed", control=message["type"], user=user_id)
