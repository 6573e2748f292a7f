"""Creates the tables and users, and prints the users with a session cookie each as JSON."""

import json
import sys
from importlib import import_module

import django

django.setup()

from django.conf import settings  # noqa: E402
from django.contrib.auth import (  # noqa: E402
    BACKEND_SESSION_KEY,
    HASH_SESSION_KEY,
    SESSION_KEY,
    get_user_model,
)
from django.core.management import call_command  # noqa: E402


def main(count: int) -> None:
    call_command("migrate", verbosity=0)
    users = [get_user_model().objects.create(username=f"user{n}") for n in range(count)]
    print(json.dumps([{"id": str(user.pk), "cookie": _sign_in(user)} for user in users]))


def _sign_in(user) -> str:
    session = import_module(settings.SESSION_ENGINE).SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    return session.session_key


if __name__ == "__main__":
    main(int(sys.argv[1]))
