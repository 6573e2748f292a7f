"""Saying something in a thread."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import structlog

from accounts.models import User
from core.rate_limits import check_rate_limit
from core.refusals import Refusal
from threads import policy
from threads.actions.attachments import MessageAttachments, collect_attachments
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.dynamodb.transactions import TransactionSteps, commit_steps
from threads.events import publish_message
from threads.models import Message, Participant, SentMarker
from threads.models.message import ASSET, MAX_BODY_LENGTH, TEXT
from threads.models.participant import REQUEST_SENT
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
from threads.sending.new_message import now_ms

log = structlog.get_logger(__name__)

# Judged and rendered in a few milliseconds; and so are those before it, if nobody has judged them.
QUICK_BODY, QUICK_BEFORE = 600, 4_000


@dataclass
class OutgoingMessage:
    """A message on its way: what has to hold for it, and what became of it."""

    sender: User
    thread_id: str
    client_id: str
    body: str
    seen_seq: int = 0
    reply_to: str | None = None
    attachments: Sequence[str] = ()
    links: Sequence[dict[str, str]] = ()
    # One of the two, once it is done.
    message: Message | None = None
    refusal: Refusal | None = None
    waiting: BatchEntry | None = None
    is_rate_checked: bool = False

    @property
    def is_done(self) -> bool:
        return self.message is not None or self.refusal is not None

    @property
    def is_quick(self) -> bool:
        """Files are looked up in SQL and what is answered in the table; much text, this one's or
        what its author said before, is read for a while. Nobody else waits for that."""
        if self.attachments or self.links or self.reply_to:
            return False
        before = policy.list_recent_texts(self.thread_id, self.sender.id)
        return len(self.body) <= QUICK_BODY and sum(map(len, before)) <= QUICK_BEFORE

    def prepare(self) -> None:
        """What can be said and read without the thread."""
        self.attached = collect_attachments(
            self.sender,
            self.attachments,
            self.links,
            thread_id=self.thread_id,
            client_id=self.client_id,
        )
        self.line = new_text_message(
            self.sender.id,
            client_id=self.client_id,
            body=self.body,
            seen_seq=self.seen_seq,
            reply_to=self.reply_to,
            attached=self.attached,
        )
        self.quoted = _find_quoted(self.thread_id, self.reply_to)

    def check_rate_limit(self) -> None:
        """Counted once, however often it is tried."""
        if not self.is_rate_checked:
            check_rate_limit("message", self.sender.id)
            self.is_rate_checked = True

    def plan(self, cached: CachedThread) -> tuple[NewMessage, RosterChange]:
        check_can_write(cached, self.sender.id)
        if self.reply_to and not _can_quote(self.quoted, cached.people[self.sender.id]):
            raise Refusal("BAD_FRAME", "The message that you answer is not there.")
        return policy.apply_policy(self.line, cached), RosterChange()

    def run(self) -> Message:
        """By itself; whatever was tried together with others before."""
        unconfirmed = self.waiting.unconfirmed if self.waiting else None
        try:
            # Before the text is parsed and files are looked up.
            self.check_rate_limit()
        except Refusal:
            stored = self._find_repeated()
            if stored is None:
                raise
            return stored
        if self.waiting is None:
            self.prepare()
        try:
            self.attached.reserve()
            appended = append(self.thread_id, self.plan, unconfirmed=unconfirmed)
        except Refusal as refusal:
            stored = find_stored_message(self.thread_id, self.line)
            if stored is None:
                if isinstance(refusal, policy.PolicyBlocked):
                    sender = self.sender.id
                    policy.open_case(refusal, thread_id=self.thread_id, author_id=sender)
                raise
            self.attached.bind(stored)
            return stored
        return self.finish(appended)

    def _find_repeated(self) -> Message | None:
        """The message that an earlier attempt stored. Without its marker nothing is parsed."""
        marker_sk = keys.sent_marker_sk(self.sender.id, self.client_id)
        if SentMarker.find(keys.thread_pk(self.thread_id), marker_sk) is None:
            return None
        self.prepare()
        stored = find_stored_message(self.thread_id, self.line)
        if stored is not None:
            self.attached.bind(stored)
        return stored

    def finish_or_log(self, appended: Appended) -> None:
        """It is stored, and so are the others: whatever goes wrong with one is no reason not to
        tell of them. Pages find by seq what they were not told."""
        try:
            self.finish(appended)
        except Exception:
            log.exception("not_told", thread=self.thread_id)
            self.message = appended.message

    def finish(self, appended: Appended) -> Message:
        # Before anybody is told: whoever hears of it asks for the files.
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
) -> Message:
    """Stores a message once, however often it is sent with the same client id, and tells people."""
    return OutgoingMessage(
        sender, thread_id, client_id, body, seen_seq, reply_to, attachments, links
    ).run()


def send_batch(sendings: list[OutgoingMessage]) -> None:
    """The same for several that wait, in one transaction where that can be. Those that are not done
    then have to be run, one by one."""
    commit_steps(send_batch_steps(sendings))


def send_batch_steps(sendings: list[OutgoingMessage]) -> TransactionSteps:
    """Waits for nothing but the transactions that it asks for."""
    ready = list(_each_waiting(sendings))
    yield from append_batch([waiting for _, waiting in ready])
    for sending, waiting in ready:
        if waiting.appended is not None:
            sending.finish_or_log(waiting.appended)


def _each_waiting(sendings: list[OutgoingMessage]) -> Iterator[tuple[OutgoingMessage, BatchEntry]]:
    alone: set[str] = set()
    for sending in sendings:
        if not sending.is_quick or sending.thread_id in alone:
            # What comes after it waits, too.
            alone.add(sending.thread_id)
            continue
        try:
            sending.check_rate_limit()
        except Refusal:
            # Unless it was stored before, which is for it to find out by itself.
            alone.add(sending.thread_id)
            continue
        try:
            sending.prepare()
        except Refusal as refusal:
            sending.refusal = refusal
            continue
        sending.waiting = BatchEntry(sending.thread_id, sending.plan)
        yield sending, sending.waiting


def _find_quoted(thread_id: str, reply_to: str | None) -> Message | None:
    if reply_to is None:
        return None
    return Message.find(keys.thread_pk(thread_id), keys.message_sk(reply_to))


def _can_quote(quoted: Message | None, person: Participant) -> bool:
    """Only what they may see themselves."""
    return quoted is not None and quoted.seq >= person.visible_from_seq


def new_text_message(
    author_id: str,
    *,
    client_id: str,
    body: str,
    seen_seq: int = 0,
    reply_to: str | None = None,
    attached: MessageAttachments | None = None,
) -> NewMessage:
    attachments = attached.described if attached else []
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
    """One newline for every kind, nothing that no one could have typed, and not too much."""
    body = body.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "").strip()
    if not body and not may_be_empty:
        raise Refusal("MSG_EMPTY")
    if len(body) > MAX_BODY_LENGTH:
        raise Refusal("MSG_TOO_LONG")
    return body


def check_can_write(cached: CachedThread, user_id: str, *, despite_hold: bool = False) -> None:
    """`despite_hold` is for calling staff, which somebody whose sending is held may do."""
    person = cached.people.get(user_id)
    if person is None:
        raise Refusal("THREAD_NOT_FOUND")
    check_thread_open(cached)
    # Who has asked cannot tell being blocked from waiting.
    still_waits = person.request_state == REQUEST_SENT and user_id not in (person.blocked_by or ())
    if person.blocked_by and not cached.is_group and not still_waits:
        raise Refusal("MSG_BLOCKED_BY_USER")
    if person.request_state:
        raise pending_refusal(cached, person)
    if not despite_hold:
        check_not_held(person)
    check_not_paused(person.blocked_until)


def check_not_held(person: Participant) -> None:
    if person.sending_hold:
        raise Refusal(
            "SAFETY_SOFT_BLOCK",
            f"You can't write here for now. {person.sending_hold['reason']}",
            hint="Our safety team is reviewing it, and you can write again once they are done.",
        )


def check_not_paused(until: str | None) -> None:
    wait = seconds_until(until)
    if wait > 0:
        raise Refusal(
            "RATE_LIMITED", f"You can write again in {format_duration(wait)}.", retry_after=wait
        )


def format_duration(seconds: int) -> str:
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1)):
        # Rounded up, and in the largest unit of which there are two.
        if seconds >= 2 * length or length == 1:
            count = -(-seconds // length)
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return ""


def pending_refusal(cached: CachedThread, person: Participant) -> Refusal:
    """For both sides: whoever was asked has to answer first, whoever asked has to wait."""
    name = person.other_side["name"]
    if person.request_state != REQUEST_SENT:
        return Refusal(
            "REQUEST_PENDING",
            f"You have not accepted {name}'s request.",
            hint="Accept it to write back.",
        )
    if person.is_request_expired:
        return Refusal(
            "REQUEST_PENDING",
            f"{name} did not answer your request, and it has expired.",
            hint="You can start a new conversation from their profile.",
        )
    return Refusal("REQUEST_PENDING", f"{name} has not accepted your request yet.")


def check_thread_open(cached: CachedThread) -> None:
    if cached.thread.is_locked:
        raise Refusal("THREAD_LOCKED")
    if cached.thread.soft_block:
        raise Refusal("SAFETY_SOFT_BLOCK")


def seconds_until(moment: str | None) -> int:
    if moment is None:
        return 0
    return round(keys.parse_iso(moment).timestamp() - now_ms() / 1000 + 0.5)
