"""What used to be done at every heartbeat of a page, for all sockets of the process at a time.

Presence takes a few Redis commands for any number of sockets. The positions of the threads on the
screens are read in batches, so that a page that missed an event is found even if no server noticed
that it was lost.
"""

import time

from realtime.broadcast import presence
from realtime.sockets.connection_writer import connection_writer
from realtime.sockets.open_sockets import OpenSocket
from realtime.sockets.periodic_check import PeriodicCheck
from threads.dynamodb.errors import StoreUnavailable
from threads.queries import list_positions

PRESENCE_SECONDS = 20.0
POSITIONS_SECONDS = 60.0
RECORD_SECONDS = 3600.0


async def refresh_presence(sockets: list[OpenSocket]) -> None:
    """Records the last heartbeats, and finds users whose server died without publishing it."""
    now = time.monotonic()
    await presence.touch_all(
        {
            (socket.user_id, socket.connection_id): now - socket.active_at
            for socket in sockets
            if now - socket.active_at < presence.EXPIRY_SECONDS
        }
    )
    people = set().union(*(socket.subscriptions.people for socket in sockets))
    online = await presence.list_online(people)
    for socket in sockets:
        changed = socket.subscriptions.refresh(online)
        if changed:
            socket.queue.put({"type": "presence.refreshed", "changed": changed})
    _record_connections(sockets, now)


def _record_connections(sockets: list[OpenSocket], now: float) -> None:
    for socket in sockets:
        if now - socket.recorded_at > RECORD_SECONDS:
            socket.recorded_at = now
            connection_writer.add_opened(socket.connection)


async def read_positions(sockets: list[OpenSocket]) -> None:
    """The next heartbeat compares the position of its page with the stored one."""
    shown = {socket.shown_thread for socket in sockets if socket.shown_thread}
    try:
        positions = await list_positions(shown)
    except StoreUnavailable:
        return
    for socket in sockets:
        socket.stored_position = positions.get(socket.shown_thread)


_checks = [
    PeriodicCheck(PRESENCE_SECONDS, refresh_presence),
    PeriodicCheck(POSITIONS_SECONDS, read_positions),
]


def start_shared_checks() -> None:
    for check in _checks:
        check.start()
