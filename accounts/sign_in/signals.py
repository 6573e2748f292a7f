"""Notes every sign-in, so that people can see where they are signed in and end it."""

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
def note_sign_in(sender: type[User], request: HttpRequest, user: User, **_: Any) -> None:
    if request.session.session_key is None:
        # Somebody else was signed in here: the session is new, and not stored yet.
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
def keep_sign_in(sender: type[User], request: HttpRequest, user: User, **_: Any) -> None:
    """The session has another key then. One that is not listed could not be ended elsewhere."""
    before = request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
    mine = SignIn.objects.filter(user=user, session_key=before)
    if not mine.update(session_key=request.session.session_key):
        note_sign_in(sender, request, user)
