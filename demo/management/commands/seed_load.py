import argparse
import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib import import_module
from string import ascii_lowercase
from typing import Any

from allauth.account.models import EmailAddress
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.hashers import make_password
from django.core.management.base import CommandParser
from django.db import transaction
from django.utils import timezone
from django.utils.crypto import get_random_string

from accounts.models import SignIn, User
from core.ids import new_id
from core.outbox.models import OutboxEntry
from demo.history import PastMessage, PastThread, write_history
from demo.seed_command import SeedCommand
from threads.dynamodb.table import put_many
from threads.models.profiles import build_profile

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"
# Intervals long enough that a long thread spans years, as real ones do.
MESSAGE_INTERVAL = timedelta(minutes=10)
THREAD_INTERVAL = timedelta(hours=1)
BODY = "Could we move the shoot to the morning? The light in the hall is best before ten, I think."


@dataclass
class LoadPair:
    thread_id: str
    buyer: User
    seller: User


class Command(SeedCommand):
    help = "Add users and threads for load tests, in bulk."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--pairs", type=_count, required=True, help="buyers with a seller each")
        parser.add_argument("--messages", type=_count, required=True, help="in the thread of each")
        parser.add_argument(
            "--threads-per-user", type=_count, default=1, help="rows in the inbox of each person"
        )
        parser.add_argument("--json", action="store_true", help="print the pairs as JSON")

    def seed(self, **options: Any) -> None:
        now = timezone.now()
        # One password for the whole run, because hashing is slow.
        password = secrets.token_urlsafe(16)
        pairs = add_pairs(options["pairs"], password, now)
        write_history(_threads(pairs, options["messages"], options["threads_per_user"], now))
        cookies = sign_in([person for pair in pairs for person in (pair.buyer, pair.seller)])
        shown = [_show(pair, password, cookies) for pair in pairs]
        if options["json"]:
            self.stdout.write(json.dumps({"pairs": shown}))
        else:
            self._print_pairs(shown, password)

    def _print_pairs(self, pairs: list[dict[str, Any]], password: str) -> None:
        self.stdout.write(f"Added {len(pairs)} pairs. Every user's password is {password}")
        for pair in pairs:
            self.stdout.write(f"  {pair['buyer']['email']}  {pair['seller']['email']}")


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _show(pair: LoadPair, password: str, cookies: dict[str, str]) -> dict[str, Any]:
    def show(person: User) -> dict[str, str]:
        return {
            "id": person.id,
            "email": person.email,
            "password": password,
            "cookie": cookies[person.id],
        }

    return {"thread": pair.thread_id, "buyer": show(pair.buyer), "seller": show(pair.seller)}


# --- People


def add_pairs(count: int, password: str, now: datetime) -> list[LoadPair]:
    # Without digits, which could look like a telephone number.
    run, stored = get_random_string(8, ascii_lowercase), make_password(password)

    def person(role: str, number: int) -> User:
        name = f"load-{run}-{role}{number}"
        return User(
            email=f"{name}@parley.example",
            password=stored,
            handle=name,
            display_name=f"{role.capitalize()} {number}",
            last_login=now,
        )

    pairs = [
        LoadPair(new_id("thrd"), person("buyer", number), person("seller", number))
        for number in range(1, count + 1)
    ]
    _add_people([person for pair in pairs for person in (pair.buyer, pair.seller)])
    return pairs


def _add_people(people: list[User]) -> None:
    """Like create_user, in bulk. The outbox entries are for the case of a crash."""
    with transaction.atomic():
        User.objects.bulk_create(people)
        EmailAddress.objects.bulk_create(
            EmailAddress(user=person, email=person.email, verified=True, primary=True)
            for person in people
        )
        entries = OutboxEntry.objects.bulk_create(
            OutboxEntry(kind="profile", payload=payload, ordering_key=f"user:{payload['user']}")
            for payload in ({"user": person.id} for person in people)
        )
    put_many(build_profile(person) for person in people)
    waiting = OutboxEntry.objects.filter(pk__in=[entry.pk for entry in entries])
    waiting.update(done_at=timezone.now())


def sign_in(people: list[User]) -> dict[str, str]:
    """Creates sessions like Django's login() and returns their cookies by user id."""
    store = import_module(settings.SESSION_ENGINE).SessionStore
    cookies = {}
    with transaction.atomic():
        for person in people:
            session = store()
            session[SESSION_KEY] = person.id
            session[BACKEND_SESSION_KEY] = BACKEND
            session[HASH_SESSION_KEY] = person.get_session_auth_hash()
            session.save()
            cookies[person.id] = session.session_key
        SignIn.objects.bulk_create(
            SignIn(user_id=user_id, session_key=key, device="Load test")
            for user_id, key in cookies.items()
        )
    return cookies


# --- Threads


def _threads(
    pairs: list[LoadPair], messages: int, rows: int, now: datetime
) -> Iterator[PastThread]:
    for pair in pairs:
        yield _thread(pair, pair.thread_id, messages, now)
        for number in range(1, rows):
            yield _thread(pair, new_id("thrd"), 1, now - number * THREAD_INTERVAL)


def _thread(pair: LoadPair, thread_id: str, message_count: int, ended: datetime) -> PastThread:
    sides = (pair.buyer.id, pair.seller.id)
    messages = [
        PastMessage(sides[number % 2], f"{BODY} ({number + 1})", ended - left * MESSAGE_INTERVAL)
        for number, left in enumerate(range(message_count - 1, -1, -1))
    ]
    return PastThread(thread_id, pair.buyer, pair.seller, "Load test", messages)
