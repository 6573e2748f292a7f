"""Sending messages in a thread, one at a time or as a batch."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import structlog

from accounts.models import User
from core.rate_limits import check_rate_limit
from core.refusals import Refusal
from realtime.broadcast.delivery import recheck_delivery
from threads import policy
from threads.actions.attachments import MessageAttachments, collect_attachments
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.dynamodb.transactions import TransactionSteps, commit_steps
from threads.events import publish_message
from threads.models import Message, SentMarker
from threads.models.message import ASSET, MAX_BODY_LENGTH, TEXT
from threads.permissions import can_quote, check_can_write
from threads.rendering.attachments import preview_of
from threads.sending import (
    Appended,
    BatchEntry,
    NewMessage,
    RosterChange,
    append,
    append_batch,
    find_stored_message,
)

log = structlog.get_logger(__name__)

# Text up to these lengths is checked against the policy and rendered in a few milliseconds.
MAX_BATCHED_BODY_CHARS, MAX_BATCHED_HISTORY_CHARS = 600, 4_000


@dataclass
class OutgoingMessage:
    """A send in progress: its input, its checks and its result."""

    sender: User
    thread_id: str
    client_id: str
    body: str
    seen_seq: int = 0
    reply_to: str | None = None
    attachments: Sequence[str] = ()
    links: Sequence[dict[str, str]] = ()
    # A seq that the client had before its first attempt, if it says so.
    after_seq: int | None = None
    # One of these is set once the send is done.
    message: Message | None = None
    refusal: Refusal | None = None
    # Set once the message has been part of a batch.
    batch_entry: BatchEntry | None = None
    is_rate_checked: bool = False

    @property
    def is_done(self) -> bool:
        return self.message is not None or self.refusal is not None

    @property
    def can_batch(self) -> bool:
        """Attachments and replies need further reads, and the policy check takes long for much
        text, of this message or of the author's recent ones: other senders must not wait for it."""
        if self.attachments or self.links or self.reply_to:
            return False
        if len(self.body) > MAX_BATCHED_BODY_CHARS:
            return False
        recent = policy.list_recent_texts(self.thread_id, self.sender.id)
        return sum(map(len, recent)) <= MAX_BATCHED_HISTORY_CHARS

    def prepare(self) -> None:
        """Builds and reads everything that does not depend on the thread."""
        self.attached = collect_attachments(
            self.sender,
            self.attachments,
            self.links,
            thread_id=self.thread_id,
            client_id=self.client_id,
        )
        self.new_message = new_text_message(
            self.sender.id,
            client_id=self.client_id,
            body=self.body,
            seen_seq=self.seen_seq,
            reply_to=self.reply_to,
            attached=self.attached,
        )
        # A file finds its message by the marker.
        if not self.attached.descriptions:
            self.new_message.after_seq = self.after_seq
        self.quoted = _find_quoted(self.thread_id, self.reply_to)

    def check_rate_limit(self) -> None:
        """Counts the message once, however often sending it is attempted."""
        if not self.is_rate_checked:
            check_rate_limit("message", self.sender.id)
            self.is_rate_checked = True

    def plan(self, cached: CachedThread) -> tuple[NewMessage, RosterChange]:
        check_can_write(cached, self.sender.id)
        if self.reply_to and not can_quote(self.quoted, cached.people[self.sender.id]):
            raise Refusal("BAD_FRAME", "The message you're replying to no longer exists.")
        return policy.apply_policy(self.new_message, cached), RosterChange()

    def run(self) -> Message:
        """Sends the message in a transaction of its own, also after an attempt in a batch."""
        unconfirmed = self.batch_entry.unconfirmed if self.batch_entry else None
        try:
            # Before the text is parsed and files are read.
            self.check_rate_limit()
        except Refusal:
            stored = self._find_repeated()
            if stored is None:
                raise
            return stored
        if self.batch_entry is None:
            self.prepare()
        try:
            self.attached.reserve()
            appended = append(self.thread_id, self.plan, unconfirmed=unconfirmed)
        except Refusal as refusal:
            stored = find_stored_message(self.thread_id, self.new_message)
            if stored is None:
                if isinstance(refusal, policy.PolicyBlocked):
                    sender = self.sender.id
                    policy.open_case(refusal, thread_id=self.thread_id, author_id=sender)
                raise
            self.attached.bind(stored)
            return stored
        return self.finish(appended)

    def _find_repeated(self) -> Message | None:
        """Finds the message that an earlier attempt stored; parses nothing if there is none."""
        if self.after_seq is None and not self._has_marker():
            return None
        self.prepare()
        stored = find_stored_message(self.thread_id, self.new_message)
        if stored is not None:
            self.attached.bind(stored)
        return stored

    def _has_marker(self) -> bool:
        marker_sk = keys.sent_marker_sk(self.sender.id, self.client_id)
        return SentMarker.find(keys.thread_pk(self.thread_id), marker_sk) is not None

    def finish_or_log(self, appended: Appended) -> None:
        """Must not raise: the message is stored, and the others of the batch are still to be
        published. The next heartbeat of the participants finds what they missed."""
        try:
            self.finish(appended)
        except Exception:
            log.exception("publish_failed", thread=self.thread_id)
            recheck_delivery(list(appended.cached.people))
            self.message = appended.message

    def finish(self, appended: Appended) -> Message:
        # Before the event is published: its recipients request the files at once.
        self.attached.bind(appended.message)
        if self.quoted is not None:
            appended.cached.quoted[self.quoted.id] = self.quoted
        policy.record_texts([appended.message])
        publish_message(appended)
        self.message = appended.message
        return appended.message


def send_message(
    sender: User,
    *,
    thread_id: str,
    client_id: str,
    body: str,
    seen_seq: int = 0,
    reply_to: str | None = None,
    attachments: Sequence[str] = (),
    links: Sequence[dict[str, str]] = (),
    after_seq: int | None = None,
) -> Message:
    """Stores and publishes a message once, however often it is sent with the same client id."""
    return OutgoingMessage(
        sender,
        thread_id,
        client_id,
        body,
        seen_seq,
        reply_to,
        attachments,
        links,
        after_seq,
    ).run()


def send_batch(outgoing: list[OutgoingMessage]) -> None:
    """Sends several messages in as few transactions as possible. The caller must run those that
    are not done afterwards one by one."""
    commit_steps(send_batch_steps(outgoing))


def send_batch_steps(outgoing: list[OutgoingMessage]) -> TransactionSteps:
    """Does no I/O besides the transactions that it yields."""
    ready = list(_prepare_batch(outgoing))
    yield from append_batch([entry for _, entry in ready])
    for one, entry in ready:
        if entry.appended is not None:
            one.finish_or_log(entry.appended)


def _prepare_batch(
    outgoing: list[OutgoingMessage],
) -> Iterator[tuple[OutgoingMessage, BatchEntry]]:
    # Threads with a message that is sent on its own: later messages must not overtake it.
    excluded: set[str] = set()
    for one in outgoing:
        if not one.can_batch or one.thread_id in excluded:
            excluded.add(one.thread_id)
            continue
        try:
            one.check_rate_limit()
        except Refusal:
            # `run` finds out whether this is a repeat of a stored message.
            excluded.add(one.thread_id)
            continue
        try:
            one.prepare()
        except Refusal as refusal:
            one.refusal = refusal
            continue
        one.batch_entry = BatchEntry(one.thread_id, one.plan)
        yield one, one.batch_entry


def _find_quoted(thread_id: str, reply_to: str | None) -> Message | None:
    if reply_to is None:
        return None
    return Message.find(keys.thread_pk(thread_id), keys.message_sk(reply_to))


def new_text_message(
    author_id: str,
    *,
    client_id: str,
    body: str,
    seen_seq: int = 0,
    reply_to: str | None = None,
    attached: MessageAttachments | None = None,
) -> NewMessage:
    attachments = attached.descriptions if attached else []
    body = clean_body(body, may_be_empty=bool(attachments))
    return NewMessage(
        client_id=client_id,
        body=body,
        preview=preview_of(body, attachments),
        author_id=author_id,
        type=ASSET if attachments else TEXT,
        seen_seq=seen_seq,
        reply_to=reply_to,
        attachments=attachments,
        hash_parts=attached.hash_parts if attached else [],
    )


def clean_body(body: str, *, may_be_empty: bool = False) -> str:
    """Normalises newlines, removes null characters and checks the length."""
    body = body.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "").strip()
    if not body and not may_be_empty:
        raise Refusal("MSG_EMPTY")
    if len(body) > MAX_BODY_LENGTH:
        raise Refusal("MSG_TOO_LONG")
    return body
