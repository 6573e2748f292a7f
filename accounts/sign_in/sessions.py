"""The sessions of a user, and whether they are still valid."""

import hashlib
from collections.abc import Collection
from functools import lru_cache
from importlib import import_module
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.models import Session
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from accounts.models import SignIn, User

SessionStore = import_module(settings.SESSION_ENGINE).SessionStore

# A session key and the id of the user it should belong to.
SessionOfUser = tuple[str, str]


def session_hash(session_key: str) -> str:
    """Identifies a session without revealing its key."""
    return hashlib.sha256(session_key.encode()).hexdigest()[:32]


def is_signed_in(session_key: str, user_id: str) -> bool:
    """False after a sign-out, a suspension or a password change. Not cached."""
    return bool(list_valid_sessions([(session_key, user_id)]))


def list_valid_sessions(sessions_of_users: Collection[SessionOfUser]) -> set[SessionOfUser]:
    """The sessions that are still valid, with two queries in total."""
    owners = _find_owners({key for key, _ in sessions_of_users})
    user_ids = {owner.user_id for owner in owners.values()}
    active = (
        User.objects.filter(is_active=True, pk__in=user_ids) if user_ids else User.objects.none()
    )
    passwords = dict(active.values_list("id", "password"))
    return {
        (key, id)
        for key, id in sessions_of_users
        if key in owners
        and owners[key].user_id == id
        and owners[key].has_password(passwords.get(id))
    }


def find_users(session_keys: Collection[str]) -> dict[str, User]:
    """The users who are signed in with these sessions, with two queries in total."""
    owners = _find_owners(session_keys)
    user_ids = {owner.user_id for owner in owners.values()}
    users = User.objects.filter(is_active=True).in_bulk(user_ids) if user_ids else {}
    return {
        key: users[owner.user_id]
        for key, owner in owners.items()
        if owner.user_id in users and owner.has_password(users[owner.user_id].password)
    }


def find_loaded_user(session: Any) -> User | None:
    """The user that was read with the session, if they are signed in with it."""
    owner = _owner(session)
    user: User | None = session.loaded_user
    backends = settings.AUTHENTICATION_BACKENDS
    if owner is None or user is None or session[BACKEND_SESSION_KEY] not in backends:
        return None
    is_owner = user.id == owner.user_id and user.is_active and owner.has_password(user.password)
    return user if is_owner else None


class SessionOwner(NamedTuple):
    """The user of a session, and the hash of the password with which it was started."""

    user_id: str
    auth_hash: str

    def has_password(self, password: str | None) -> bool:
        return password is not None and constant_time_compare(self.auth_hash, _auth_hash(password))


def _find_owners(session_keys: Collection[str]) -> dict[str, SessionOwner]:
    stored = Session.objects.filter(session_key__in=session_keys, expire_date__gt=timezone.now())
    found = {key: _decode(data) for key, data in stored.values_list("session_key", "session_data")}
    return {key: owner for key, owner in found.items() if owner is not None}


# The sessions of open sockets are validated again and again, and hardly ever change.
@lru_cache(maxsize=20_000)
def _decode(session_data: str) -> SessionOwner | None:
    return _owner(SessionStore().decode(session_data))


def _owner(data: Any) -> SessionOwner | None:
    if BACKEND_SESSION_KEY not in data or SESSION_KEY not in data:
        return None
    return SessionOwner(data[SESSION_KEY], data.get(HASH_SESSION_KEY, ""))


@lru_cache(maxsize=20_000)
def _auth_hash(password: str) -> str:
    return User(password=password).get_session_auth_hash()


def list_sign_ins(user: User) -> list[SignIn]:
    """Newest first. Sign-ins whose session has ended are deleted."""
    found = list(SignIn.objects.filter(user=user).order_by("-created_at"))
    valid = list_valid_sessions([(one.session_key, user.id) for one in found])
    ended = [one.pk for one in found if (one.session_key, user.id) not in valid]
    SignIn.objects.filter(pk__in=ended).delete()
    return [one for one in found if one.pk not in ended]


def end_sign_in(sign_in: SignIn) -> None:
    SessionStore(sign_in.session_key).delete()
    sign_in.delete()
