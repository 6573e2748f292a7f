"""Sign-ins: which sessions a person has, and whether one still counts."""

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

# A session key, and the id of the person who should be signed in by it.
SessionOfUser = tuple[str, str]


def session_hash(session_key: str) -> str:
    """Names a session without giving it away."""
    return hashlib.sha256(session_key.encode()).hexdigest()[:32]


def is_signed_in(session_key: str, user_id: str) -> bool:
    """Looked up anew: signed out, suspended or with another password, it no longer counts."""
    return bool(list_valid_sessions([(session_key, user_id)]))


def list_valid_sessions(asked: Collection[SessionOfUser]) -> set[SessionOfUser]:
    """Those that still count, with two queries however many are asked about."""
    stored = Session.objects.filter(
        session_key__in={key for key, _ in asked}, expire_date__gt=timezone.now()
    )
    sessions = {one.session_key: one.get_decoded() for one in stored}
    active = User.objects.filter(is_active=True)
    users = active.in_bulk({user_id for _, user_id in asked}) if sessions else {}
    return {
        (key, user_id)
        for key, user_id in asked
        if key in sessions and _counts(sessions[key], users.get(user_id))
    }


def _counts(data: dict[str, Any], user: User | None) -> bool:
    if user is None or data.get(SESSION_KEY) != user.id or BACKEND_SESSION_KEY not in data:
        return False
    return constant_time_compare(data.get(HASH_SESSION_KEY, ""), user.get_session_auth_hash())


def list_sign_ins(user: User) -> list[SignIn]:
    """Newest first; those whose session is gone are forgotten."""
    found = list(SignIn.objects.filter(user=user).order_by("-created_at"))
    counting = list_valid_sessions([(one.session_key, user.id) for one in found])
    gone = [one.pk for one in found if (one.session_key, user.id) not in counting]
    SignIn.objects.filter(pk__in=gone).delete()
    return [one for one in found if one.pk not in gone]


def end_sign_in(sign_in: SignIn) -> None:
    SessionStore(sign_in.session_key).delete()
    sign_in.delete()
