"""Sign-ins: which sessions a person has, and whether one still counts."""

import hashlib
from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.utils.crypto import constant_time_compare

from accounts.models import SignIn, User

SessionStore = import_module(settings.SESSION_ENGINE).SessionStore


def session_hash(session_key: str) -> str:
    """Names a session without giving it away."""
    return hashlib.sha256(session_key.encode()).hexdigest()[:32]


def is_signed_in(session_key: str, user_id: str) -> bool:
    """Looked up anew: signed out, suspended or with another password, it no longer counts."""
    data: dict[str, Any] = SessionStore(session_key).load()
    if data.get(SESSION_KEY) != user_id or BACKEND_SESSION_KEY not in data:
        return False
    user = User.objects.filter(pk=user_id, is_active=True).first()
    known = data.get(HASH_SESSION_KEY, "")
    return user is not None and constant_time_compare(known, user.get_session_auth_hash())


def list_sign_ins(user: User) -> list[SignIn]:
    """Newest first; those whose session is gone are forgotten."""
    found = list(SignIn.objects.filter(user=user).order_by("-created_at"))
    gone = [one.pk for one in found if not is_signed_in(one.session_key, user.id)]
    SignIn.objects.filter(pk__in=gone).delete()
    return [one for one in found if one.pk not in gone]


def end_sign_in(sign_in: SignIn) -> None:
    SessionStore(sign_in.session_key).delete()
    sign_in.delete()
