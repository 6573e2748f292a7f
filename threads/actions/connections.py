"""Live connections, kept in both directions; and ending the sign-ins that they belong to."""

import time
from typing import Any

from accounts.models import SignIn, User
from accounts.sign_in.sessions import end_sign_in, session_hash
from realtime.broadcast.delivery import end_session
from threads.dynamodb import keys
from threads.dynamodb.change import Change
from threads.dynamodb.table import Item, put_many, query
from threads.dynamodb.transactions import update
from threads.models import Connection, Profile, UserConnection
from threads.sending.new_message import now_ms

LIFE = 24 * 3600
MAX_CONNECTIONS = 200


def record_connection(
    user: User, *, connection_id: str, device: str, session: str, since: str
) -> None:
    """On connecting, and hourly from then on."""
    values: dict[str, Any] = {
        "user_id": user.id,
        "connected_at": since,
        "last_seen_at": now(),
        "device": device,
        "session_hash": session,
        "ttl": int(time.time()) + LIFE,
    }
    put_many(
        [
            Connection(keys.connection_pk(connection_id), keys.METADATA, **values),
            UserConnection(keys.user_pk(user.id), keys.connection_sk(connection_id), **values),
        ]
    )


def remove_connection(user: User, *, connection_id: str) -> None:
    Connection(keys.connection_pk(connection_id), keys.METADATA).delete()
    UserConnection(keys.user_pk(user.id), keys.connection_sk(connection_id)).delete()


def record_last_seen(user: User) -> None:
    """When the last of their connections ended. Somebody without a profile is not made one."""
    profile = Profile(keys.user_pk(user.id), keys.PROFILE)
    update(profile, Change(set={"last_seen_at": now()}), Profile.pk.exists())


def list_connections(user: User) -> list[UserConnection]:
    where = Item.sk.startswith(keys.CONNECTIONS)
    return query(keys.user_pk(user.id), where, limit=MAX_CONNECTIONS).of(UserConnection)


def sign_out_device(user: User, *, sign_in: SignIn) -> None:
    """Effective at once, on its open sockets too."""
    ended = session_hash(sign_in.session_key)
    end_sign_in(sign_in)
    end_session(user.id, ended)


def now() -> str:
    return keys.iso(keys.datetime_from_ms(now_ms()))
