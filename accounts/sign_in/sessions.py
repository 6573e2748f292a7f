"""The sessions of a user, and whether they are still valid."""

import hashlib
from collections.abc import Collection
from importlib import import_module
from typing import Any

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
    users = find_users({key for key, _ in sessions_of_users})
    return {(key, id) for key, id in sessions_of_users if key in users and users[key].id == id}


def find_users(session_keys: Collection[str]) -> dict[str, User]:
    """The users who are signed in with these sessions, with two queries in total."""
    stored = Session.objects.filter(session_key__in=session_keys, expire_date__gt=timezone.now())
    sessions = {one.session_key: one.get_decoded() for one in stored}
    user_ids = {data.get(SESSION_KEY) for data in sessions.values()} - {None}
    users = User.objects.filter(is_active=True).in_bulk(user_ids) if user_ids else {}
    found = {key: users.get(data.get(SESSION_KEY)) for key, data in sessions.items()}
    return {key: user for key, user in found.items() if user and _is_valid(sessions[key], user)}


def _is_valid(data: dict[str, Any], user: User) -> bool:
    if BACKEND_SESSION_KEY not in data:
        return False
    return constant_time_compare(data.get(HASH_SESSION_KEY, ""), user.get_session_auth_hash())


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
