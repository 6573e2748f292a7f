import base64
import io
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac
from ulid import ULID

from accounts.models import User
from core.outbox.processing import process_due
from demo import content
from demo.content.pictures import draw
from demo.history import PastMessage, PastThread, list_existing, write_history
from demo.profiles import add_profiles
from demo.seed_command import SeedCommand
from demo.sellers import PastContact, add_contacts, offer_services
from files.actions import accept_file
from files.models import File

MAIN_SIGN_INS = 2

People = dict[str, User]
SignIn = dict[str, str]


class Command(SeedCommand):
    help = "Add demo users and conversations, and print their passwords. Safe to repeat."

    def seed(self, **options: Any) -> None:
        people, new_people = add_people()
        add_profiles(people)
        # Before the threads are created, so that their copies of profiles need no update.
        while process_due():
            pass
        # Relative to when the users joined, so that a repeated run gives the same result.
        joined = min(person.date_joined for person in people.values())
        stories = content.conversations(joined)
        new_threads = add_threads(stories, people, joined)
        add_sellers(stories, people, joined)
        sign_ins = list_sign_ins(stories)
        write_sign_ins(sign_ins)
        self._print_sign_ins(sign_ins, new_people, new_threads)

    def _print_sign_ins(self, sign_ins: list[SignIn], new_people: int, new_threads: int) -> None:
        if new_people or new_threads:
            self.stdout.write(f"Added {new_people} people and {new_threads} conversations.")
        else:
            self.stdout.write(
                "The demo users and conversations already exist. Nothing was changed."
            )
        self.stdout.write("Sign in as")
        for person in sign_ins[:MAIN_SIGN_INS]:
            self.stdout.write("  {name}, {role}: {email}  {password}".format_map(person))
        self.stdout.write("or as")
        for person in sign_ins[MAIN_SIGN_INS:]:
            self.stdout.write("  {email:<28} {password}".format_map(person))


# --- People


def add_people() -> tuple[People, int]:
    return _add_missing(content.people(), _password)


def _add_missing(
    persons: Sequence[content.Person], password: Callable[[content.Person], str | None]
) -> tuple[People, int]:
    """Creates all users in one transaction, so that they have the same age."""
    wanted = {person.email: person for person in persons}
    existing = {user.email: user for user in User.objects.filter(email__in=wanted)}
    for email, user in existing.items():
        if not user.id.endswith(_derived_suffix("usr", wanted[email].key)):
            raise CommandError(f"{email} is not a demo user of this installation.")
    missing = [person for email, person in wanted.items() if email not in existing]
    try:
        with transaction.atomic():
            existing |= {person.email: _add_person(person, password(person)) for person in missing}
    except IntegrityError as error:
        raise CommandError("Another user already has the handle of a demo user.") from error
    return {person.key: existing[person.email] for person in persons}, len(missing)


def _add_person(person: content.Person, password: str | None) -> User:
    return User.objects.create_user(
        person.email,
        password,
        id=derived_id("usr", timezone.now(), person.key),
        handle=person.handle,
        display_name=person.display_name,
        headline=person.headline,
        about=person.about,
        city=person.city,
        time_zone=person.time_zone,
        verified=person.verified,
    )


# --- Threads


def add_threads(
    stories: Sequence[content.DemoConversation], people: People, joined: datetime
) -> int:
    ids = {story.key: derived_id("thrd", joined, story.key) for story in stories}
    existing = list_existing(list(ids.values()))
    missing = [story for story in stories if ids[story.key] not in existing]
    write_history(_past_thread(story, people, ids[story.key]) for story in missing)
    return len(missing)


def _past_thread(story: content.DemoConversation, people: People, thread_id: str) -> PastThread:
    return PastThread(
        id=thread_id,
        buyer=people[story.buyer],
        seller=people[story.seller],
        subject=story.subject,
        city=story.city,
        messages=[_past_message(line, people[line.author], thread_id) for line in story.messages],
        unread={people[key].id: count for key, count in story.unread_for.items()},
        pinned_by=[people[key].id for key in story.pinned_by],
        archived_by=[people[key].id for key in story.archived_by],
    )


def _past_message(line: content.DemoMessage, author: User, thread_id: str) -> PastMessage:
    files = [_picture(name, author, thread_id, line.at) for name in line.pictures]
    return PastMessage(author.id, line.text, line.at, files)


def _picture(name: str, author: User, thread_id: str, at: datetime) -> File:
    """Uploads an image like a user would; returns the existing file on a repeated run."""
    file_id = derived_id("file", at, f"{thread_id} {name}")
    File.objects.filter(pk=file_id, state=File.State.QUARANTINED).delete()
    found = File.objects.filter(pk=file_id).first()
    return found or accept_file(
        author,
        thread_id=thread_id,
        name=f"{name}.jpg",
        content=io.BytesIO(draw(name)),
        file_id=file_id,
    )


# --- Sellers


def add_sellers(
    stories: Sequence[content.DemoConversation], people: People, joined: datetime
) -> None:
    """Lists users who offer services, and others without conversations, who never sign in."""
    for key, services in content.services().items():
        offer_services(people[key], services)
        sold = [story for story in stories if story.seller == key]
        add_contacts(people[key], filter(None, (_first_reply(story, joined) for story in sold)))
    sellers = content.sellers()
    users, _ = _add_missing([seller.person for seller in sellers], lambda _: None)
    add_profiles(users)
    for seller in sellers:
        user = users[seller.person.key]
        offer_services(user, seller.services)
        add_contacts(user, _past_contacts(seller, joined))
    while process_due():
        pass


def _first_reply(story: content.DemoConversation, joined: datetime) -> PastContact | None:
    replies = (line.at for line in story.messages if line.author == story.seller)
    answered_at, thread_id = next(replies, None), derived_id("thrd", joined, story.key)
    return PastContact(thread_id, story.messages[0].at, answered_at) if answered_at else None


def _past_contacts(seller: content.DemoSeller, joined: datetime) -> Iterator[PastContact]:
    for number, minutes in enumerate(seller.replied_minutes, 1):
        asked_at = joined - number * timedelta(days=9)
        thread_id = derived_id("thrd", asked_at, f"{seller.person.key} {number}")
        yield PastContact(thread_id, asked_at, asked_at + timedelta(minutes=minutes))


# --- Ids and passwords: unpredictable, but the same on every run


def derived_id(prefix: str, at: datetime, key: str) -> str:
    time = int(at.timestamp() * 1000).to_bytes(6, "big")
    return f"{prefix}_{ULID.from_bytes(time + _derive_bytes(prefix, key))}"


def _derived_suffix(prefix: str, key: str) -> str:
    """The part of a derived id that does not depend on the time."""
    return str(ULID.from_bytes(bytes(6) + _derive_bytes(prefix, key)))[10:]


def _password(person: content.Person) -> str:
    letters = base64.b32encode(_derive_bytes("password", person.key)).decode().lower()
    return "-".join(letters[start : start + 4] for start in range(0, len(letters), 4))


def _derive_bytes(what: str, key: str) -> bytes:
    """Derived from the secret key of the installation."""
    return salted_hmac(f"seed_demo.{what}", key, algorithm="sha256").digest()[:10]


# --- Sign-ins


def list_sign_ins(stories: Iterable[content.DemoConversation]) -> list[SignIn]:
    """The role is the one that a user has in most conversations."""
    buys: Counter[str] = Counter()
    for story in stories:
        buys[story.buyer] += 1
        buys[story.seller] -= 1
    return [
        {
            "name": person.display_name,
            "email": person.email,
            "password": _password(person),
            "role": "buyer" if buys[person.key] > 0 else "seller",
        }
        for person in content.people()
    ]


def write_sign_ins(sign_ins: list[SignIn]) -> None:
    path = settings.DATA_DIR / "demo.json"
    text = json.dumps(sign_ins, ensure_ascii=False, indent=2) + "\n"
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name("demo.json.new")
    draft.unlink(missing_ok=True)
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    draft.replace(path)
