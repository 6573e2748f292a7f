"""The open sockets of this process by user, with a limit per user."""

from typing import Protocol

from django.conf import settings

from realtime.broadcast.channel_layer import ChannelQueue
from realtime.sockets.subscriptions import PresenceSubscriptions
from threads.actions.connections import OpenConnection
from threads.queries import ThreadPosition


class OpenSocket(Protocol):
    session_key: str
    validated_at: float
    connection_id: str
    # The connection as it is stored, and when.
    connection: OpenConnection
    recorded_at: float
    active_at: float
    shown_thread: str
    stored_position: ThreadPosition | None
    subscriptions: PresenceSubscriptions
    queue: ChannelQueue

    @property
    def user_id(self) -> str: ...

    async def end(self, code: int, refusal_code: str = "") -> None: ...


class OpenSockets:
    def __init__(self) -> None:
        # The sockets of each user, oldest first; a dict keeps that order.
        self._by_user: dict[str, dict[OpenSocket, None]] = {}

    def add(self, socket: OpenSocket) -> list[OpenSocket]:
        """Registers a socket. Returns the user's oldest ones beyond the limit."""
        own = self._by_user.setdefault(socket.user_id, {})
        own[socket] = None
        excess = list(own)[: max(0, len(own) - settings.SOCKETS_PER_USER)]
        for one in excess:
            self.discard(one)
        return excess

    def discard(self, socket: OpenSocket) -> None:
        own = self._by_user.get(socket.user_id, {})
        own.pop(socket, None)
        if not own:
            self._by_user.pop(socket.user_id, None)

    def all(self) -> list[OpenSocket]:
        return [socket for own in self._by_user.values() for socket in own]


open_sockets = OpenSockets()
