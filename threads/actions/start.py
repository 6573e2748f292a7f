"""Starting a conversation: thread, people, first message and all that goes with it, or nothing."""

import time

from accounts.models import User
from core.ids import new_id
from core.rate_limits import check_rate_limit
from core.refusals import Refusal
from detection import judge
from threads import cache, policy
from threads.actions.folders import placement_change
from threads.actions.messages import check_not_paused, new_text_message
from threads.actions.rate_limits import (
    StoredLimit,
    bucket_keys,
    check_tokens_left,
    start_limits,
    take_token_in,
)
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
from threads.models.profiles import build_person, muted_until
from threads.models.thread import INQUIRY, OPEN
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


def start_thread(
    buyer: User, *, seller: User, client_id: str, subject: str, body: str, city: str = ""
) -> str:
    """The id of the thread; of the one that was made before, if this start is a repeat.

    Between two who have not talked yet it is a request, which waits for an answer."""
    if buyer.id == seller.id:
        raise Refusal("ACTION_FORBIDDEN", "You cannot start a conversation with yourself.")
    check_not_paused(muted_until(buyer))
    line = new_text_message(buyer.id, client_id=client_id, body=body)
    return _Start(buyer, seller, line, subject, city).run()


class _Start:
    def __init__(
        self, buyer: User, seller: User, line: NewMessage, subject: str, city: str
    ) -> None:
        self.buyer, self.seller, self.line = buyer, seller, line
        self.subject, self.city = subject, city
        self.mark = start_hash(line, seller=seller, subject=subject, city=city)
        # Those whose answer was lost on the way: they may have been stored.
        self.unconfirmed: dict[str, Appended] = {}
        self.is_weighed = False

    def run(self) -> str:
        backoff = Backoff()
        while True:
            try:
                thread_id = self._once()
            except StoreUnavailable as error:
                backoff.wait_after(error)
                continue
            except Refusal:
                # Nobody is told "refused" about something that was stored.
                thread_id = self._find_started()
                if thread_id is None:
                    raise
            if thread_id:
                return thread_id
            backoff.wait()

    def _once(self) -> str | None:
        limits = start_limits(self.buyer)
        pair_pk = keys.pair_pk(self.buyer.id, self.seller.id)
        found = get_many([(pair_pk, keys.STATE), *bucket_keys(self.buyer, limits)])
        pair = next((item for item in found if isinstance(item, Pair)), Pair(pair_pk, keys.STATE))
        is_request = self._check(pair, limits, found)
        self._weigh()
        cached, message = self._new_thread(is_request=is_request)
        write = _store(cached, message, self.line, self.mark)
        if is_request:
            self._ask(write, pair, message)
            take_token_in(write, self.buyer, limits, found)
        else:
            accept_pair(write, pair_pk)
        try:
            write.commit()
        except StoreUnavailable:
            # It may have been written: the start marker will tell.
            self.unconfirmed[cached.thread.id] = Appended(cached, message)
            return None
        except TransactionCancelled as cancelled:
            return self._judge(cancelled)
        cache.put(cached.copy())
        publish_message(Appended(cached, message))
        return cached.thread.id

    def _check(self, pair: Pair, limits: list[StoredLimit], found: list[Item]) -> bool:
        """Whether it is a request. Limits come before the text is weighed, which takes longer."""
        if pair.blocked_by:
            self._check_not_asked(pair)
            raise Refusal("MSG_BLOCKED_BY_USER")
        is_request = not can_skip_request(pair, self.buyer)
        if is_request:
            self._check_may_ask(pair)
            check_tokens_left(limits, found)
        return is_request

    def _weigh(self) -> None:
        """Once: attempts after a lost race read the same text."""
        if not self.is_weighed:
            check_rate_limit("start", self.buyer.id)
            self.line = _weighed(self.line, self.subject, self.city)
            self.is_weighed = True

    def _new_thread(self, *, is_request: bool) -> tuple[CachedThread, Message]:
        return new_thread(
            self.buyer,
            self.seller,
            self.line,
            thread_id=new_id("thrd"),
            message_id=keys.next_message_id(None, now_ms()),
            subject=self.subject,
            city=self.city,
            is_request=is_request,
        )

    def _check_may_ask(self, pair: Pair) -> None:
        self._check_not_asked(pair)
        if self.seller.requires_verified and not self.buyer.verified:
            raise Refusal(
                "MSG_GATE_REQUIRED",
                f"{self.seller.display_name} takes first messages only from people whom we know.",
                hint="Have your account verified, then write again.",
            )

    def _ask(self, write: Transaction, pair: Pair, message: Message) -> None:
        asked = Pair.requested_at
        as_read = asked == pair.requested_at if pair.requested_at else asked.does_not_exist()
        change = Change(set={"requested_by": self.buyer.id, "requested_at": message.created_at})
        not_yet = Pair.accepted.does_not_exist() | (Pair.accepted == False)  # noqa: E712
        condition = Pair.blocked_by.does_not_exist() & not_yet & as_read
        write.update("pair", Pair(pair.pk, keys.STATE), change, condition)

    def _check_not_asked(self, pair: Pair) -> None:
        """One request at a time, whatever became of it: being declined, or blocked, must look like
        waiting to who has asked."""
        is_mine = pair.requested_by == self.buyer.id and self.buyer.id not in (
            pair.blocked_by or ()
        )
        if is_mine and (pair.requested_at or "") >= request_cutoff():
            raise Refusal(
                "REQUEST_PENDING", f"{self.seller.display_name} has not accepted your request yet."
            )

    def _judge(self, cancelled: TransactionCancelled) -> str | None:
        if cancelled.failed("start"):
            return self._started_as(cancelled.current("start", StartMarker))
        if cancelled.failed("pair") and cancelled.current("pair", Pair).blocked_by:
            raise Refusal("MSG_BLOCKED_BY_USER")
        return None

    def _find_started(self) -> str | None:
        marker = StartMarker.find(
            keys.user_pk(self.buyer.id), keys.start_marker_sk(self.line.client_id)
        )
        return self._started_as(marker) if marker else None

    def _started_as(self, marker: StartMarker) -> str:
        if marker.hash != self.mark:
            raise Refusal("CLIENT_ID_REUSED")
        if marker.thread_id in self.unconfirmed:
            publish_message(self.unconfirmed[marker.thread_id])
        return str(marker.thread_id)


def _weighed(line: NewMessage, subject: str, city: str) -> NewMessage:
    """A first message is weighed like any other, with what is said around it."""
    said = "\n".join(filter(None, [subject, city, line.body]))
    verdict = judge(said)
    if not verdict.is_found:
        return line
    try:
        return policy.apply_strike(line, verdict, said, strikes=1)
    except policy.PolicyBlocked as blocked:
        policy.open_case(blocked, thread_id="", author_id=line.author_id or "")
        raise


def new_thread(
    buyer: User,
    seller: User,
    line: NewMessage,
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
        last_message=line.summary,
        rev=0,
        waiting_for=seller.id,
    )
    message = Message(
        thread.pk,
        keys.message_sk(message_id),
        seq=1,
        tally=1,
        client_id=line.client_id,
        type=TEXT,
        body=line.body,
        author_id=buyer.id,
        receiver_ids=[seller.id],
        flags=line.flags,
        created_at=at,
    )
    people = _two_sides(thread, message, buyer, seller)
    if is_request:
        _hold(people[buyer.id], people[seller.id])
    for attribute, value in line.author_changes.items():
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
    selling.pending_pk, selling.pending_sk = keys.pending_pk(seller.id), thread.id
    selling.unread_pk, selling.unread_sk = keys.unread_pk(seller.id), thread.id
    return {buyer.id: buying, seller.id: selling}


def _hold(asker: Participant, asked: Participant) -> None:
    """Not in the inbox, and not among what is unread, until it is accepted."""
    asker.request_state, asked.request_state = REQUEST_SENT, REQUEST_RECEIVED
    placement_change(asked, {"folder": REQUESTS}).apply(asked)


def new_participant(thread: Thread, user: User, *, role: str, other: User) -> Participant:
    """A row in the inbox, with the thread as it stands; cursors are the caller's."""
    return Participant(
        thread.pk,
        keys.participant_sk(user.id),
        role=role,
        person=build_person(user),
        folder=INBOX,
        subject=thread.subject,
        kind=thread.kind,
        other_side=build_person(other),
        others_count=max(1, len(thread.participants) - 1),
        blocked_until=muted_until(user),
        last_message_at=thread.last_message_at,
        last_message=thread.last_message,
        last_seq=thread.last_seq,
        last_tally=thread.last_tally,
        waiting_for=thread.waiting_for,
        inbox_pk=keys.inbox_pk(user.id, INBOX),
        inbox_sk=keys.inbox_sk(thread.last_message_at, thread.id, pinned=False),
    )


def _store(cached: CachedThread, message: Message, line: NewMessage, mark: str) -> Transaction:
    thread = cached.thread
    write = Transaction()
    write.put("start", make_start_marker(thread, line, mark), is_unused(StartMarker))
    write.put("thread", thread)
    for person in cached.people.values():
        write.put(person.sk, person)
    write.put("message", message)
    write.put("marker", make_marker(message, line))
    write.put("archive", make_archive_due(message))
    write.put("pair thread", make_pair_thread(thread))
    return write


def start_hash(line: NewMessage, *, seller: User, subject: str, city: str) -> str:
    return content_hash(seller.id, subject, line.body, city)


def make_start_marker(thread: Thread, line: NewMessage, mark: str) -> StartMarker:
    return StartMarker(
        keys.user_pk(thread.buyer_id),
        keys.start_marker_sk(line.client_id),
        thread_id=thread.id,
        hash=mark,
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
