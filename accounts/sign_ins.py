"""Notes every sign-in, so that people can see where they are signed in and end it."""

from typing import Any

from django.contrib.auth.signals import user_logged_in
from django.dispatch import receiver
from django.http import HttpRequest

from accounts.devices import device_of
from accounts.lockout import address_of
from accounts.models import SignIn, User


@receiver(user_logged_in)
def note_sign_in(sender: type[User], request: HttpRequest, user: User, **_: Any) -> None:
    session_key = request.session.session_key
    if session_key is None:
        return
    SignIn.objects.update_or_create(
        session_key=session_key,
        defaults={
            "user": user,
            "device": device_of(request.headers.get("User-Agent", "")),
            "address": address_of(request),
        },
    )
