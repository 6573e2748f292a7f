"""Starting a thread: its items, participants and first message, in one transaction."""

import time

from accounts.models import User
from core.ids import new_id
from core.rate_limits import check_rate_limit
from core.refusals import Refusal
from detection import judge
from threads import cache, policy
from threads.actions.folders import placement_change
from threads.actions.messages import new_text_message
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.dynamodb.change import Change
from threads.dynamodb.retry import Backoff
from threads.dynamodb.store import StoreUnavailable
from threads.dynamodb.table import Item, get_many
from threads.dynamodb.transactions import Transaction, TransactionCancelled
from threads.events import publish_message
from threads.models import Message, Pair, PairThread, Participant, StartMarker, Thread
from threads.models.message import TEXT
from threads.models.participant import (
    BUYER,
    INBOX,
    REQUEST_RECEIVED,
    REQUEST_SENT,
    REQUESTS,
    SELLER,
    request_cutoff,
)
from threads.models.profiles import build_other_side, build_person, muted_until
from threads.models.rate_buckets import (
    StoredLimit,
    bucket_keys,
    check_tokens_left,
    start_limits,
    take_token_in,
)
from threads.models.thread import INQUIRY, OPEN
from threads.permissions import check_is_verified, check_not_paused, request_pending
from threads.queries import can_skip_request
from threads.sending import Appended, NewMessage, content_hash
from threads.sending.new_message import (
    MARKER_LIFETIME_SECONDS,
    make_archive_due,
    make_marker,
    make_thread_of_pair,
    now_ms,
)
from threads.sending.rows import caught_up_cursors
from threads.sending.transaction import is_unused
from threads.signals import request_sent


def start_thread(
    buyer: User, *, seller: User, client_id: str, subject: str, body: str, city: str = ""
) -> str:
    """Returns the id of the thread; for a repeat, that of the thread started before.

    Between users who have no accepted thread yet it is a request, which the seller answers."""
    if buyer.id == seller.id:
        raise Refusal("ACTION_FORBIDDEN", "You can't start a conversation with yourself.")
    check_not_paused(muted_until(buyer))
    new_message = new_text_message(buyer.id, client_id=client_id, body=body)
    return _Start(buyer, seller, new_message, subject, city).run()


class _Start:
    def __init__(
        self, buyer: User, seller: User, new_message: NewMessage, subject: str, city: str
    ) -> None:
        self.buyer, self.seller, self.new_message = buyer, seller, new_message
        self.subject, self.city = subject, city
        self.hash = start_hash(new_message, seller=seller, subject=subject, city=city)
        # Attempts without a response: they may have been stored.
        self.unconfirmed: dict[str, Appended] = {}
        self.is_policy_checked = False

    def run(self) -> str:
        backoff = Backoff()
        while True:
            try:
                thread_id = self._try_once()
            except StoreUnavailable as error:
                backoff.wait_after(error)
                continue
            except Refusal:
                # An earlier attempt may have stored the thread: then it is not refused.
                thread_id = self._find_started()
                if thread_id is None:
                    raise
            if thread_id:
                return thread_id
            backoff.wait()

    def _try_once(self) -> str | None:
        limits = start_limits(self.buyer)
        pair_pk = keys.pair_pk(self.buyer.id, self.seller.id)
        found = get_many([(pair_pk, keys.STATE), *bucket_keys(self.buyer, limits)])
        pair = next((item for item in found if isinstance(item, Pair)), Pair(pair_pk, keys.STATE))
        is_request = self._check(pair, limits, found)
        self._check_policy()
        cached, message = self._new_thread(is_request=is_request)
        write = _build_transaction(cached, message, self.new_message, self.hash)
        if is_request:
            self._write_request(write, pair, message)
            take_token_in(write, self.buyer, limits, found)
        else:
            accept_pair(write, pair_pk)
        try:
            write.commit()
        except StoreUnavailable:
            # It may have been written: the next attempt finds the start marker.
            self.unconfirmed[cached.thread.id] = Appended(cached, message)
            return None
        except TransactionCancelled as cancelled:
            return self._handle_cancelled(cancelled)
        cache.put(cached.copy())
        self._publish(Appended(cached, message))
        return cached.thread.id

    def _check(self, pair: Pair, limits: list[StoredLimit], found: list[Item]) -> bool:
        """Whether it is a request. Limits are checked before the policy, which takes longer."""
        if pair.blocked_by:
            self._check_not_requested(pair)
            raise Refusal("MSG_BLOCKED_BY_USER")
        is_request = not can_skip_request(pair, self.buyer)
        if is_request:
            self._check_can_request(pair)
            check_tokens_left(limits, found)
        return is_request

    def _check_policy(self) -> None:
        """Once, since every attempt has the same text."""
        if not self.is_policy_checked:
            check_rate_limit("start", self.buyer.id)
            self.new_message = _apply_policy(self.new_message, self.subject, self.city)
            self.is_policy_checked = True

    def _new_thread(self, *, is_request: bool) -> tuple[CachedThread, Message]:
        return new_thread(
            self.buyer,
            self.seller,
            self.new_message,
            thread_id=new_id("thrd"),
            message_id=keys.next_message_id(None, now_ms()),
            subject=self.subject,
            city=self.city,
            is_request=is_request,
        )

    def _check_can_request(self, pair: Pair) -> None:
        self._check_not_requested(pair)
        check_is_verified(self.buyer, self.seller)

    def _write_request(self, write: Transaction, pair: Pair, message: Message) -> None:
        stored = Pair.requested_at
        unchanged = stored == pair.requested_at if pair.requested_at else stored.does_not_exist()
        change = Change(set={"requested_by": self.buyer.id, "requested_at": message.created_at})
        not_accepted = Pair.accepted.does_not_exist() | (Pair.accepted == False)  # noqa: E712
        condition = Pair.blocked_by.does_not_exist() & not_accepted & unchanged
        write.update("pair", Pair(pair.pk, keys.STATE), change, condition)

    def _check_not_requested(self, pair: Pair) -> None:
        """One request at a time, also after it was declined or its sender blocked: to the sender
        both must look like an unanswered request."""
        is_mine = pair.requested_by == self.buyer.id and self.buyer.id not in (
            pair.blocked_by or ()
        )
        if is_mine and (pair.requested_at or "") >= request_cutoff():
            raise request_pending(self.seller.display_name)

    def _handle_cancelled(self, cancelled: TransactionCancelled) -> str | None:
        if cancelled.failed("start"):
            return self._thread_of_marker(cancelled.current("start", StartMarker))
        if cancelled.failed("pair") and cancelled.current("pair", Pair).blocked_by:
            raise Refusal("MSG_BLOCKED_BY_USER")
        return None

    def _find_started(self) -> str | None:
        marker = StartMarker.find(
            keys.user_pk(self.buyer.id), keys.start_marker_sk(self.new_message.client_id)
        )
        return self._thread_of_marker(marker) if marker else None

    def _thread_of_marker(self, marker: StartMarker) -> str:
        if marker.hash != self.hash:
            raise Refusal("CLIENT_ID_REUSED")
        if marker.thread_id in self.unconfirmed:
            self._publish(self.unconfirmed[marker.thread_id])
        return str(marker.thread_id)

    def _publish(self, started: Appended) -> None:
        publish_message(started)
        thread = started.cached.thread
        if started.cached.people[self.seller.id].request_state == REQUEST_RECEIVED:
            request_sent.send_robust(
                None,
                thread_id=thread.id,
                user_id=self.seller.id,
                asked_at=keys.parse_iso(thread.created_at),
            )


def _apply_policy(new_message: NewMessage, subject: str, city: str) -> NewMessage:
    """Checks the first message together with the subject and the city."""
    text = "\n".join(filter(None, [subject, city, new_message.body]))
    verdict = judge(text)
    if not verdict.is_found:
        return new_message
    try:
        return policy.apply_strike(new_message, verdict, text, strikes=1)
    except policy.PolicyBlocked as blocked:
        policy.open_case(blocked, thread_id="", author_id=new_message.author_id or "")
        raise


def new_thread(
    buyer: User,
    seller: User,
    new_message: NewMessage,
    *,
    thread_id: str,
    message_id: str,
    subject: str,
    city: str,
    is_request: bool = False,
) -> tuple[CachedThread, Message]:
    at = keys.message_created_at(message_id)
    thread = Thread(
        keys.thread_pk(thread_id),
        keys.THREAD,
        kind=INQUIRY,
        subject=subject,
        buyer_id=buyer.id,
        seller_id=seller.id,
        participants=[buyer.id, seller.id],
        roster_version=1,
        city=city or None,
        status=OPEN,
        safe_mode_required=True,
        created_at=at,
        updated_at=at,
        last_seq=1,
        last_tally=1,
        last_message_id=message_id,
        last_message_at=at,
        last_message=new_message.summary,
        rev=0,
        waiting_for=seller.id,
    )
    message = Message(
        thread.pk,
        keys.message_sk(message_id),
        seq=1,
        tally=1,
        client_id=new_message.client_id,
        type=TEXT,
        body=new_message.body,
        author_id=buyer.id,
        receiver_ids=[seller.id],
        flags=new_message.flags,
        created_at=at,
    )
    people = _two_sides(thread, message, buyer, seller)
    if is_request:
        _make_request(people[buyer.id], people[seller.id])
    for attribute, value in new_message.author_changes.items():
        setattr(people[buyer.id], attribute, value)
    return CachedThread(thread, people), message


def _two_sides(
    thread: Thread, message: Message, buyer: User, seller: User
) -> dict[str, Participant]:
    buying = new_participant(thread, buyer, role=BUYER, other=seller)
    for name, value in caught_up_cursors(message).items():
        setattr(buying, name, value)
    selling = new_participant(thread, seller, role=SELLER, other=buyer)
    selling.first_undelivered_seq = message.seq
    selling.first_undelivered_message_id = message.id
    selling.pending_pk, selling.pending_sk = keys.pending_pk(seller.id), keys.thread_sk(thread.id)
    selling.unread_pk, selling.unread_sk = keys.unread_pk(seller.id), keys.thread_sk(thread.id)
    return {buyer.id: buying, seller.id: selling}


def _make_request(sender: Participant, recipient: Participant) -> None:
    """Keeps the thread out of the recipient's inbox and unread index until they accept."""
    sender.request_state, recipient.request_state = REQUEST_SENT, REQUEST_RECEIVED
    placement_change(recipient, {"folder": REQUESTS}).apply(recipient)


def new_participant(thread: Thread, user: User, *, role: str, other: User) -> Participant:
    """A participant with an inbox row of the current thread. The caller sets the cursors."""
    return Participant(
        thread.pk,
        keys.participant_sk(user.id),
        role=role,
        person=build_person(user),
        folder=INBOX,
        subject=thread.subject,
        kind=thread.kind,
        other_side=build_other_side(other),
        others_count=max(1, len(thread.participants) - 1),
        blocked_until=muted_until(user),
        last_message_at=thread.last_message_at,
        last_message=thread.last_message,
        last_seq=thread.last_seq,
        last_tally=thread.last_tally,
        waits_on=thread.waiting_for,
        inbox_pk=keys.inbox_pk(user.id, INBOX),
        inbox_sk=keys.inbox_sk(thread.last_message_at, thread.id, pinned=False),
    )


def _build_transaction(
    cached: CachedThread, message: Message, new_message: NewMessage, hash_: str
) -> Transaction:
    thread = cached.thread
    write = Transaction()
    write.put("start", make_start_marker(thread, new_message, hash_), is_unused(StartMarker))
    write.put("thread", thread)
    for person in cached.people.values():
        write.put(person.sk, person)
    write.put("message", message)
    write.put("marker", make_marker(message, new_message))
    write.put("archive", make_archive_due(message))
    write.put("pair thread", make_pair_thread(thread))
    return write


def start_hash(new_message: NewMessage, *, seller: User, subject: str, city: str) -> str:
    return content_hash(seller.id, subject, new_message.body, city)


def make_start_marker(thread: Thread, new_message: NewMessage, hash_: str) -> StartMarker:
    return StartMarker(
        keys.user_pk(thread.buyer_id),
        keys.start_marker_sk(new_message.client_id),
        thread_id=thread.id,
        hash=hash_,
        ttl=int(time.time()) + MARKER_LIFETIME_SECONDS,
    )


def accept_pair(write: Transaction, pair_pk: str) -> None:
    write.update(
        "pair",
        Pair(pair_pk, keys.STATE),
        Change(set={"accepted": True}),
        Pair.blocked_by.does_not_exist(),
    )


def make_pair_thread(thread: Thread) -> PairThread:
    return make_thread_of_pair(keys.pair_pk(thread.buyer_id, thread.seller_id), thread)
