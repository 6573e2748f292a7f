"""Somebody with a conversation to look at: long names, long words, text from right to left.

Runs inside the service's own process (see conftest.py) and prints what the browser has to know.
"""

import json
from importlib import import_module
from uuid import uuid4

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY

from accounts.models import User
from threads.actions.messages import send_message
from threads.actions.start import start_thread

LONG_NAME = "Maximiliane-Konstanze von Hohenlohe-Langenburg"
LONG_SUBJECT = "A subject that does not end where one would like it to"
LONG_WORD = "Donaudampfschifffahrtsgesellschaft" * 5
SAID = ["**Two** questions:\n\n1. Which surface?\n2. Who is on set?", LONG_WORD, "سأحضر غدًا"]


def make() -> None:
    mara, max_ = _person("Mara Klein"), _person(LONG_NAME)
    thread = start_thread(
        mara, seller=max_, client_id=str(uuid4()), subject=LONG_SUBJECT, body="Are you free?"
    )
    for body in SAID * 4:
        for author in (max_, mara):
            send_message(author, thread_id=thread, client_id=str(uuid4()), body=body, seen_seq=0)
    cookie = _session_of(mara)
    print(json.dumps({"me": mara.handle, "other": max_.handle, "thread": thread, "cookie": cookie}))


def _person(name: str) -> User:
    tag = f"p-{uuid4().hex[:10]}"
    return User.objects.create_user(
        f"{tag}@parley.example", "a long password", handle=tag, display_name=name
    )


def _session_of(user: User) -> str:
    session = import_module(settings.SESSION_ENGINE).SessionStore()
    session[SESSION_KEY] = user.pk
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[-1]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    return str(session.session_key)
