"""Items of live connections, by connection and by user, and signing out a device."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from accounts.models import SignIn, User
from accounts.sign_in.sessions import end_sign_in, session_hash
from realtime.broadcast.delivery import end_session
from threads.dynamodb import async_table, keys
from threads.dynamodb.change import Change
from threads.dynamodb.table import Item, Key, query
from threads.models import Connection, Profile, UserConnection
from threads.sending.new_message import now_ms

LIFETIME_SECONDS = 24 * 3600
MAX_CONNECTIONS = 200


@dataclass(frozen=True)
class OpenConnection:
    user_id: str
    connection_id: str
    device: str
    session: str
    connected_at: str


# A user id and the id of one of their connections.
ClosedConnection = tuple[str, str]


async def write_connections(
    opened: Iterable[OpenConnection], closed: Iterable[ClosedConnection]
) -> None:
    """Records open connections, on connecting and hourly afterwards, and removes closed ones."""
    puts = [item for connection in opened for item in _items(connection)]
    deletes = [key for connection in closed for key in _keys(*connection)]
    await async_table.write_many(puts, deletes)


def _items(connection: OpenConnection) -> list[Item]:
    values: dict[str, Any] = {
        "user_id": connection.user_id,
        "connected_at": connection.connected_at,
        "last_seen_at": now(),
        "device": connection.device,
        "session_hash": connection.session,
        "ttl": int(time.time()) + LIFETIME_SECONDS,
    }
    by_id, by_user = _keys(connection.user_id, connection.connection_id)
    return [Connection(*by_id, **values), UserConnection(*by_user, **values)]


def _keys(user_id: str, connection_id: str) -> tuple[Key, Key]:
    return (
        (keys.connection_pk(connection_id), keys.METADATA),
        (keys.user_pk(user_id), keys.connection_sk(connection_id)),
    )


async def record_last_seen(user_id: str) -> None:
    """Called when the last connection of a user ends. Never creates a profile item."""
    profile = Profile(keys.user_pk(user_id), keys.PROFILE)
    await async_table.update(profile, Change(set={"last_seen_at": now()}), Profile.pk.exists())


def list_connections(user: User) -> list[UserConnection]:
    where = Item.sk.startswith(keys.CONNECTIONS)
    return query(keys.user_pk(user.id), where, limit=MAX_CONNECTIONS).of(UserConnection)


def sign_out_device(user: User, *, sign_in: SignIn) -> None:
    """Ends the session and closes its open websockets."""
    ended = session_hash(sign_in.session_key)
    end_sign_in(sign_in)
    end_session(user.id, ended)


def now() -> str:
    return keys.iso(keys.datetime_from_ms(now_ms()))
