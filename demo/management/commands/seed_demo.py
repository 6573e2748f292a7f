import base64
import io
import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac
from ulid import ULID

from accounts.models import User
from demo import content
from demo.content.pictures import draw
from demo.history import PastMessage, PastThread, list_existing, write_history
from demo.seed_command import SeedCommand
from files.actions import accept_file
from files.models import File
from threads.outbox_handlers import process_due_entries

SHOWN_FIRST = 2

People = dict[str, User]
SignIn = dict[str, str]


class Command(SeedCommand):
    help = "Adds demo people and conversations, and says who to sign in as. Safe to run again."

    def seed(self, **options: Any) -> None:
        people, new_people = add_people()
        # Before the threads, which are made with names and have nothing to be corrected then.
        while process_due_entries():
            pass
        # What is told is as old as its people: whenever this is finished, it is the same.
        joined = min(person.date_joined for person in people.values())
        stories = content.conversations(joined)
        new_threads = add_threads(stories, people, joined)
        sign_ins = list_sign_ins(stories)
        keep_sign_ins(sign_ins)
        self._say(sign_ins, new_people, new_threads)

    def _say(self, sign_ins: list[SignIn], new_people: int, new_threads: int) -> None:
        if new_people or new_threads:
            self.stdout.write(f"Added {new_people} people and {new_threads} conversations.")
        else:
            self.stdout.write("The demo people and conversations are here. Nothing was changed.")
        self.stdout.write("Sign in as")
        for person in sign_ins[:SHOWN_FIRST]:
            self.stdout.write("  {name}, {role}: {email}  {password}".format_map(person))
        self.stdout.write("or as")
        for person in sign_ins[SHOWN_FIRST:]:
            self.stdout.write("  {email:<28} {password}".format_map(person))


# --- People


def add_people() -> tuple[People, int]:
    """All of them or none, so that they are all of one age."""
    wanted = {person.email: person for person in content.people()}
    there = {user.email: user for user in User.objects.filter(email__in=wanted)}
    for email, user in there.items():
        if not user.id.endswith(_tail("usr", wanted[email].key)):
            raise CommandError(f"{email} is not a demo person of this installation.")
    missing = [person for email, person in wanted.items() if email not in there]
    try:
        with transaction.atomic():
            there |= {person.email: _add_person(person) for person in missing}
    except IntegrityError as error:
        raise CommandError("Somebody here has the handle of a demo person already.") from error
    return {person.key: there[person.email] for person in content.people()}, len(missing)


def _add_person(person: content.Person) -> User:
    return User.objects.create_user(
        person.email,
        _password(person),
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
    there = list_existing(list(ids.values()))
    missing = [story for story in stories if ids[story.key] not in there]
    write_history(_past(story, people, ids[story.key]) for story in missing)
    return len(missing)


def _past(story: content.DemoConversation, people: People, thread_id: str) -> PastThread:
    return PastThread(
        id=thread_id,
        buyer=people[story.buyer],
        seller=people[story.seller],
        subject=story.subject,
        city=story.city,
        messages=[_said(line, people[line.author], thread_id) for line in story.messages],
        unread={people[key].id: count for key, count in story.unread_for.items()},
        pinned_by=[people[key].id for key in story.pinned_by],
        archived_by=[people[key].id for key in story.archived_by],
    )


def _said(line: content.DemoMessage, author: User, thread_id: str) -> PastMessage:
    files = [_picture(name, author, thread_id, line.at) for name in line.pictures]
    return PastMessage(author.id, line.text, line.at, files)


def _picture(name: str, author: User, thread_id: str, at: datetime) -> File:
    """Taken in as anybody's would be; the one that is there already, if this is a repeat."""
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


# --- Ids and passwords: nobody can guess them, and a repeat comes to the same ones


def derived_id(prefix: str, at: datetime, key: str) -> str:
    time = int(at.timestamp() * 1000).to_bytes(6, "big")
    return f"{prefix}_{ULID.from_bytes(time + _chance(prefix, key))}"


def _tail(prefix: str, key: str) -> str:
    """The part of a derived id that does not depend on the time."""
    return str(ULID.from_bytes(bytes(6) + _chance(prefix, key)))[10:]


def _password(person: content.Person) -> str:
    letters = base64.b32encode(_chance("password", person.key)).decode().lower()
    return "-".join(letters[start : start + 4] for start in range(0, len(letters), 4))


def _chance(what: str, key: str) -> bytes:
    """From the installation's secret key."""
    return salted_hmac(f"seed_demo.{what}", key, algorithm="sha256").digest()[:10]


# --- Who to sign in as


def list_sign_ins(stories: Iterable[content.DemoConversation]) -> list[SignIn]:
    """Everybody can be both; the role is the one that they have more often."""
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


def keep_sign_ins(sign_ins: list[SignIn]) -> None:
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
