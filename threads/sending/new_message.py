"""What is appended, and the items that it becomes."""

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.dynamodb.change import Change
from threads.dynamodb.table import Item
from threads.dynamodb.transactions import Transaction
from threads.models import (
    ArchiveDue,
    FormerParticipant,
    Invitation,
    LeftThread,
    Message,
    Pair,
    PairThread,
    Participant,
    SentMarker,
    Thread,
)
from threads.models.message import SYSTEM, TEXT
from threads.models.thread import PROJECT

MARKER_LIFETIME_SECONDS = 30 * 24 * 3600


@dataclass
class NewMessage:
    """Without an author it is the service speaking, and the client id says about what."""

    client_id: str
    body: str
    preview: str
    author_id: str | None = None
    # On whose behalf the service speaks: somebody who could write themself, if it is anybody.
    actor_id: str | None = None
    # Of a system message: whom its text names, by id, as it calls them.
    named: dict[str, str] | None = None
    type: str = TEXT
    seen_seq: int = 0
    reply_to: str | None = None
    # What the thread is bound to from here on.
    binding: "Binding | None" = None
    # What the message is marked with, and what it changes of its author's own item.
    flags: dict[str, Any] | None = None
    author_changes: dict[str, Any] = field(default_factory=dict)
    # Files and links as they are stored, and what tells a repeat of the same from others.
    attachments: list[dict[str, Any]] = field(default_factory=list)
    hash_parts: list[str] = field(default_factory=list)
    # What tells a repeat where the text says more the first time.
    hashed_text: str | None = None
    # What else it changes of the thread, by Python names. A `rev` among it has to be the next one.
    thread_changes: dict[str, Any] = field(default_factory=dict)
    # Attributes that it removes from the thread, by Python names.
    cleared_thread_fields: tuple[str, ...] = ()
    # A card that calls staff: its author may send it while their other sending is held.
    despite_hold: bool = False
    # A staff decision: stored although the thread is locked or on hold, which it stays.
    by_staff: bool = False
    # What waits for whom from here on; None: as before.
    waits: list[dict[str, str]] | None = None
    # The card that the message is, as it is shown.
    action: dict[str, Any] | None = None
    # What else is written in the same transaction.
    extra_writes: "Callable[[Transaction, Message], None] | None" = None

    @property
    def marker_sk(self) -> str:
        return keys.sent_marker_sk(self.author_id or SYSTEM, self.client_id)

    @property
    def hash(self) -> str:
        text = self.body if self.hashed_text is None else self.hashed_text
        return content_hash(text, self.reply_to, *self.hash_parts)

    @property
    def summary(self) -> dict[str, Any]:
        """What the inbox shows of it."""
        return {"author": self.author_id, "type": self.type, "text": self.preview}


@dataclass(frozen=True)
class Binding:
    """An inquiry becomes a project with the line that says so: to a leg, or to a group."""

    party_ids: list[str]
    leg_id: str | None = None
    group_id: str | None = None

    @property
    def booking_pk(self) -> str:
        return keys.group_pk(self.group_id) if self.group_id else keys.leg_pk(self.leg_id or "")

    def holds(self, thread: Thread) -> bool:
        return thread.is_project and thread.booking_pk == self.booking_pk

    def change(self, thread: Thread) -> Change:
        wanted = {"leg_id": self.leg_id, "group_id": self.group_id}
        return Change(
            set={
                "kind": PROJECT,
                "party_ids": self.party_ids,
                "booking_pk": self.booking_pk,
                "booking_sk": thread.created_at,
                **{name: value for name, value in wanted.items() if value},
            },
            remove=tuple(name for name, value in wanted.items() if not value),
        )


@dataclass
class RosterChange:
    """Who comes and who goes with a line, and what those who go leave behind of their own."""

    joining: list[Participant] = field(default_factory=list)
    leaving: list[Participant] = field(default_factory=list)
    owned_items: list[Item] = field(default_factory=list)
    # Whether those who go decided it themselves.
    is_by_choice: bool = False
    # Invitations that are stored, and those that go because they were accepted or have expired.
    inviting: list[Invitation] = field(default_factory=list)
    uninviting: list[Invitation] = field(default_factory=list)
    # Two people who share an accepted thread from here on.
    accepts: Pair | None = None
    # What holds between the two who are then by themselves, if that is what it comes to; and who
    # stands between them. Nobody, if one is alone; None: as before.
    pair: Pair | None = None
    blockers: set[str] | None = None

    @property
    def leaving_ids(self) -> set[str]:
        return {person.user_id for person in self.leaving}

    @property
    def changes_people(self) -> bool:
        return bool(self.joining or self.leaving or self.inviting or self.uninviting)


def content_hash(*parts: object) -> str:
    """Tells a retry from another message under the same client id."""
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def make_message(
    cached: CachedThread, line: NewMessage, message_id: str, roster: RosterChange | None = None
) -> Message:
    thread, roster = cached.thread, roster or RosterChange()
    there = [*cached.others(line.author_id), *roster.joining]
    return Message(
        thread.pk,
        keys.message_sk(message_id),
        seq=thread.last_seq + 1,
        tally=thread.last_tally + (line.author_id is not None),
        client_id=line.client_id,
        type=line.type,
        body=line.body,
        attachments=line.attachments or None,
        action=line.action,
        nsfw_band=max((one.get("band", 0) for one in line.attachments), default=0),
        author_id=line.author_id,
        receiver_ids=[p.user_id for p in there if p.user_id not in roster.leaving_ids],
        reply_to=line.reply_to,
        flags=line.flags,
        named=line.named,
        created_at=keys.message_created_at(message_id),
    )


def make_marker(message: Message, line: NewMessage) -> SentMarker:
    return SentMarker(
        message.pk,
        line.marker_sk,
        message_id=message.id,
        seq=message.seq,
        hash=line.hash,
        ttl=int(time.time()) + MARKER_LIFETIME_SECONDS,
    )


def make_archive_due(message: Message) -> ArchiveDue:
    return ArchiveDue(keys.archive_pk(message.created_at[:10], message.thread_id), message.pk)


def make_thread_of_pair(pair_pk: str, thread: Thread) -> PairThread:
    return PairThread(pair_pk, keys.pair_thread_sk(thread.id), created_at=thread.created_at)


def make_left_thread(person: Participant, at: str) -> LeftThread:
    pk, sk = keys.user_pk(person.user_id), keys.left_thread_sk(person.thread_id)
    return LeftThread(pk, sk, left_at=at)


def make_former_participant(person: Participant, *, has_left: bool = False) -> FormerParticipant:
    return FormerParticipant(
        person.pk,
        keys.former_participant_sk(person.user_id),
        person=person.person,
        sending_hold=person.sending_hold,
        has_left=has_left or None,
    )
