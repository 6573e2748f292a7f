"""Records sign-ins, so that users can see and end their sessions."""

from typing import Any

from allauth.account.signals import password_changed, password_set
from django.conf import settings
from django.contrib.auth.signals import user_logged_in
from django.dispatch import receiver
from django.http import HttpRequest

from accounts.models import SignIn, User
from accounts.sign_in.lockout import client_address
from accounts.sign_in.user_agents import device_name


@receiver(user_logged_in)
def record_sign_in(sender: type[User], request: HttpRequest, user: User, **_: Any) -> None:
    if request.session.session_key is None:
        # Another user was signed in: the session was flushed and is not stored yet.
        request.session.save()
    SignIn.objects.update_or_create(
        session_key=request.session.session_key,
        defaults={
            "user": user,
            "device": device_name(request.headers.get("User-Agent", "")),
            "address": client_address(request),
        },
    )


@receiver([password_changed, password_set])
def update_sign_in(sender: type[User], request: HttpRequest, user: User, **_: Any) -> None:
    """Follows the new session key, so that the session can still be ended from another device."""
    before = request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
    mine = SignIn.objects.filter(user=user, session_key=before)
    if not mine.update(session_key=request.session.session_key):
        record_sign_in(sender, request, user)
