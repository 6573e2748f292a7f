"""Starting a conversation: thread, people, first message and all that goes with it, or nothing."""

import time

from accounts.ids import new_id
from accounts.models import User
from accounts.refusals import Refusal
from threads import state as states
from threads.actions.messages import check_not_waiting, text_line
from threads.models import Message, Pair, PairThread, Participant, StartMarker, Thread, keys
from threads.models.changes import Cancelled, Change, Transaction
from threads.models.message import TEXT
from threads.models.participant import BUYER, INBOX, SELLER
from threads.models.store import PATIENCE, StoreUnavailable, pause
from threads.models.thread import INQUIRY, OPEN
from threads.profiles import muted_until, person_of
from threads.state import ThreadState
from threads.telling import tell_appended
from threads.writing import Appended, Line, seal
from threads.writing.build import unused
from threads.writing.line import (
    MARKER_LIFE,
    make_archive_due,
    make_marker,
    make_thread_of_pair,
    now_ms,
)
from threads.writing.rows import caught_up


def start_thread(
    buyer: User, *, seller: User, client_id: str, subject: str, body: str, city: str = ""
) -> str:
    """The id of the thread; of the one that was made before, if this start is a repeat."""
    if buyer.id == seller.id:
        raise Refusal("ACTION_FORBIDDEN", "You cannot start a conversation with yourself.")
    check_not_waiting(muted_until(buyer))
    line = text_line(buyer.id, client_id=client_id, body=body)
    mark = start_seal(line, seller=seller, subject=subject, city=city)
    deadline = time.monotonic() + PATIENCE
    # Those whose answer was lost on the way: they may have been stored.
    unsure: dict[str, Appended] = {}
    while True:
        state, message = new_thread(
            buyer,
            seller,
            line,
            thread_id=new_id("thrd"),
            message_id=keys.next_message_id(None, now_ms()),
            subject=subject,
            city=city,
        )
        try:
            _store(state, message, line, mark).commit()
        except StoreUnavailable:
            # It may have been written: the start marker will tell.
            unsure[state.thread.id] = Appended(state, message)
            pause(deadline)
        except Cancelled as cancelled:
            thread_id = _judge(cancelled, mark)
            if thread_id in unsure:
                tell_appended(unsure[thread_id])
            if thread_id:
                return thread_id
            pause(deadline)
        else:
            states.remember(state.copy())
            tell_appended(Appended(state, message))
            return state.thread.id


def new_thread(
    buyer: User,
    seller: User,
    line: Line,
    *,
    thread_id: str,
    message_id: str,
    subject: str,
    city: str,
) -> tuple[ThreadState, Message]:
    at = keys.iso(keys.message_time(message_id))
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
        created_at=at,
    )
    return ThreadState(thread, _two_sides(thread, message, buyer, seller)), message


def _two_sides(
    thread: Thread, message: Message, buyer: User, seller: User
) -> dict[str, Participant]:
    buying = new_participant(thread, buyer, role=BUYER, other=seller)
    for name, value in caught_up(message).items():
        setattr(buying, name, value)
    selling = new_participant(thread, seller, role=SELLER, other=buyer)
    selling.first_undelivered_seq = message.seq
    selling.first_undelivered_message_id = message.id
    selling.pending_pk, selling.pending_sk = keys.pending_pk(seller.id), thread.id
    selling.unread_pk, selling.unread_sk = keys.unread_pk(seller.id), thread.id
    return {buyer.id: buying, seller.id: selling}


def new_participant(thread: Thread, user: User, *, role: str, other: User) -> Participant:
    """A row in the inbox, with the thread as it stands; cursors are the caller's."""
    return Participant(
        thread.pk,
        keys.participant_sk(user.id),
        role=role,
        person=person_of(user),
        folder=INBOX,
        subject=thread.subject,
        kind=thread.kind,
        other_side=person_of(other),
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


def _store(state: ThreadState, message: Message, line: Line, mark: str) -> Transaction:
    thread = state.thread
    write = Transaction()
    write.put("start", make_start_marker(thread, line, mark), unused(StartMarker))
    write.put("thread", thread)
    for person in state.people.values():
        write.put(person.sk, person)
    write.put("message", message)
    write.put("marker", make_marker(message, line))
    write.put("archive", make_archive_due(message))
    accept_pair(write, keys.pair_pk(thread.buyer_id, thread.seller_id))
    write.put("pair thread", make_pair_thread(thread))
    return write


def start_seal(line: Line, *, seller: User, subject: str, city: str) -> str:
    return seal(seller.id, subject, line.body, city)


def make_start_marker(thread: Thread, line: Line, mark: str) -> StartMarker:
    return StartMarker(
        keys.user_pk(thread.buyer_id),
        keys.start_sk(line.client_id),
        thread_id=thread.id,
        hash=mark,
        ttl=int(time.time()) + MARKER_LIFE,
    )


def accept_pair(write: Transaction, pair_pk: str) -> None:
    write.update(
        "pair",
        Pair(pair_pk, keys.STATE),
        # Until first contacts are requests, a start is accepted by being made.
        Change(set={"accepted": True}),
        Pair.blocked_by.does_not_exist(),
    )


def make_pair_thread(thread: Thread) -> PairThread:
    return make_thread_of_pair(keys.pair_pk(thread.buyer_id, thread.seller_id), thread)


def _judge(cancelled: Cancelled, mark: str) -> str | None:
    if cancelled.failed("start"):
        marker = cancelled.current("start", StartMarker)
        if marker.hash != mark:
            raise Refusal("CLIENT_ID_REUSED")
        return str(marker.thread_id)
    if cancelled.failed("pair"):
        raise Refusal("MSG_BLOCKED_BY_USER")
    return None
