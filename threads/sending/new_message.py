"""A message to be stored, the roster change stored with it, and their items."""

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
    """A message to be stored. A system message has no author; its client id names its cause."""

    client_id: str
    body: str
    preview: str
    author_id: str | None = None
    # The participant on whose behalf a system message is sent; they must be able to send.
    actor_id: str | None = None
    # The users named in a system message: display names by user id.
    named: dict[str, str] | None = None
    type: str = TEXT
    seen_seq: int = 0
    reply_to: str | None = None
    # A seq that the client had before its first attempt, after which a repeat is searched for. None
    # if the client does not say: then the message has a marker.
    after_seq: int | None = None
    # The booking that the thread is bound to with this message.
    binding: "Binding | None" = None
    # Policy flags of the message, and changes of its author's participant item.
    flags: dict[str, Any] | None = None
    author_changes: dict[str, Any] = field(default_factory=dict)
    # Files and links as they are stored, and their parts of the content hash.
    attachments: list[dict[str, Any]] = field(default_factory=list)
    hash_parts: list[str] = field(default_factory=list)
    # The text of the content hash, if a repeat may have a different body.
    hashed_text: str | None = None
    # Other changes of the thread, by Python name. A `rev` among them must be the next one.
    thread_changes: dict[str, Any] = field(default_factory=dict)
    # Attributes to remove from the thread, by Python name.
    cleared_thread_fields: tuple[str, ...] = ()
    # A card that calls staff: its author may send it despite a sending hold.
    despite_hold: bool = False
    # A staff decision, which is stored even if the thread is locked or on hold.
    by_staff: bool = False
    # The pending actions of the thread after this message; None if unchanged.
    waits: list[dict[str, str]] | None = None
    # The card of an action message, as it is shown.
    action: dict[str, Any] | None = None
    # Adds further writes to the transaction.
    extra_writes: "Callable[[Transaction, Message], None] | None" = None

    @property
    def has_marker(self) -> bool:
        return self.after_seq is None

    @property
    def marker_sk(self) -> str:
        return keys.sent_marker_sk(self.author_id or SYSTEM, self.client_id)

    @property
    def hash(self) -> str:
        text = self.body if self.hashed_text is None else self.hashed_text
        return content_hash(text, self.reply_to, *self.hash_parts)

    @property
    def summary(self) -> dict[str, Any]:
        """The preview in inboxes."""
        return {"author": self.author_id, "type": self.type, "text": self.preview}


@dataclass(frozen=True)
class Binding:
    """The leg or group that an inquiry is bound to when it becomes a project."""

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
    """Participants who join and leave with a message, and the items of those who leave."""

    joining: list[Participant] = field(default_factory=list)
    leaving: list[Participant] = field(default_factory=list)
    owned_items: list[Item] = field(default_factory=list)
    # Whether they leave voluntarily.
    is_by_choice: bool = False
    # Invitations to store, and accepted or expired ones to delete.
    inviting: list[Invitation] = field(default_factory=list)
    uninviting: list[Invitation] = field(default_factory=list)
    # The pair whose contact is accepted with this message.
    accepts: Pair | None = None
    # If two participants remain: their pair, and who of them blocked the other. An empty set if one
    # remains; None if unchanged.
    pair: Pair | None = None
    blockers: set[str] | None = None

    @property
    def leaving_ids(self) -> set[str]:
        return {person.user_id for person in self.leaving}

    @property
    def changes_people(self) -> bool:
        return bool(self.joining or self.leaving or self.inviting or self.uninviting)


def content_hash(*parts: object) -> str:
    """Distinguishes a retry from a different message with the same client id."""
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def make_message(
    cached: CachedThread,
    new_message: NewMessage,
    message_id: str,
    roster: RosterChange | None = None,
) -> Message:
    thread, roster = cached.thread, roster or RosterChange()
    present = [*cached.others(new_message.author_id), *roster.joining]
    return Message(
        thread.pk,
        keys.message_sk(message_id),
        seq=thread.last_seq + 1,
        tally=thread.last_tally + (new_message.author_id is not None),
        client_id=new_message.client_id,
        type=new_message.type,
        body=new_message.body,
        attachments=new_message.attachments or None,
        action=new_message.action,
        nsfw_band=max((one.get("band", 0) for one in new_message.attachments), default=0),
        author_id=new_message.author_id,
        receiver_ids=[p.user_id for p in present if p.user_id not in roster.leaving_ids],
        reply_to=new_message.reply_to,
        flags=new_message.flags,
        named=new_message.named,
        created_at=keys.message_created_at(message_id),
    )


def make_marker(message: Message, new_message: NewMessage) -> SentMarker:
    return SentMarker(
        message.pk,
        new_message.marker_sk,
        message_id=message.id,
        seq=message.seq,
        hash=new_message.hash,
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
