"""Reads threads with permission checks. A forbidden thread is reported as not found."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.conf import settings
from pynamodb.expressions.condition import Condition

from accounts.models import User
from core.refusals import Refusal
from threads import cache
from threads.cache import CachedThread, from_page
from threads.dynamodb import async_table, keys, recent_writes
from threads.dynamodb.table import InboxIndex, Item, get_many, query, query_all
from threads.models import (
    FormerParticipant,
    Invitation,
    Message,
    Pair,
    PairThread,
    Participant,
    Profile,
    Thread,
)
from threads.models.participant import (
    ARCHIVED_FOLDER,
    INBOX,
    REQUEST_DECLINED,
    REQUEST_RECEIVED,
    REQUEST_SENT,
    REQUESTS,
    SPAM,
    request_cutoff,
)
from threads.models.recent_rows import RecentRows
from threads.models.tab import TAB_NAMES
from threads.models.thread import MAX_PARTICIPANTS

PAGE_SIZE = 50
HEAD_SIZE = 1 + len(TAB_NAMES)
MAX_PENDING = 100
PENDING_PAGE = 100
WINDOW_PAGE = 250


@dataclass
class OpenedThread:
    """A thread for one participant, with a page of its messages, oldest first."""

    cached: CachedThread
    me: Participant
    messages: list[Message]
    has_older: bool = False
    has_newer: bool = False


def open_thread(user: User, thread_id: str, *, after: str | None = None) -> OpenedThread:
    """The thread, its participants and newest messages (or those after one), in one Query."""
    floor = keys.message_sk(after) if after else keys.MESSAGES
    page = query(
        keys.thread_pk(thread_id),
        Item.sk >= floor,
        limit=HEAD_SIZE + _expected_participants(thread_id) + PAGE_SIZE + 1,
        newest_first=True,
    )
    cached = from_page(page)
    if cached is None or user.id not in cached.people:
        raise Refusal("THREAD_NOT_FOUND")
    if page.has_more and len(page.of(Message)) < PAGE_SIZE:
        # Items of former participants took the place of messages in the page.
        where = Item.sk.between(floor, f"{keys.MESSAGES}~")
        page = query(cached.thread.pk, where, limit=PAGE_SIZE + 1, newest_first=True)
    newest = [message for message in page.of(Message) if message.id != after]
    me = cached.people[user.id]
    # Caches a copy, since concurrent writes must not change this one.
    cache.put(cached.copy())
    shown = newest[:PAGE_SIZE]
    return _make_opened(cached, me, shown[::-1], has_older=page.has_more or len(newest) > PAGE_SIZE)


def _expected_participants(thread_id: str) -> int:
    """The number of participant items, so that the limit fits one page of messages."""
    cached = cache.peek(thread_id)
    if cached is None:
        return MAX_PARTICIPANTS
    return len(cached.people) + len(cached.former) + len(cached.invited)


def open_thread_at(user: User, thread_id: str, message_id: str) -> OpenedThread:
    """The messages around one message, in at most three requests."""
    opened = open_thread(user, thread_id)
    if any(message.id == message_id for message in opened.messages):
        return opened
    opened.messages, opened.has_older, opened.has_newer = _around(
        thread_id, message_id, opened.me.visible_from_seq
    )
    return with_quotes(opened)


def _around(thread_id: str, message_id: str, from_seq: int) -> tuple[list[Message], bool, bool]:
    pk, sk = keys.thread_pk(thread_id), keys.message_sk(message_id)
    before = query(pk, _messages_up_to(sk), limit=PAGE_SIZE // 2, newest_first=True)
    messages = before.of(Message)[::-1]
    if not messages or messages[-1].id != message_id or messages[-1].seq < from_seq:
        raise Refusal("THREAD_NOT_FOUND", "This message doesn't exist.")
    after = query(pk, _messages_since(sk), limit=PAGE_SIZE // 2 + 1)
    later = [message for message in after.of(Message) if message.id != message_id]
    shown = [message for message in messages + later if message.seq >= from_seq]
    return shown, before.has_more and shown[0].seq > from_seq, after.has_more


def list_older(user: User, thread_id: str, *, before: str) -> OpenedThread:
    """The page before a message: participants and access in one request, messages in another."""
    return _page_beside(user, thread_id, before, newest_first=True)


def list_newer(user: User, thread_id: str, *, after: str) -> OpenedThread:
    return _page_beside(user, thread_id, after, newest_first=False)


def open_thread_at_first_unread(user: User, thread_id: str) -> OpenedThread:
    """The newest page, or the page from the first unread message if that is older."""
    opened = open_thread(user, thread_id)
    me, messages = opened.me, opened.messages
    if not me.unread or not messages or me.last_read_seq + 1 >= messages[0].seq:
        return opened
    floor = keys.message_sk(me.last_read_message_id) if me.last_read_message_id else keys.MESSAGES
    page = query(opened.cached.thread.pk, _messages_since(floor), limit=PAGE_SIZE)
    has_older = me.last_read_message_id is not None
    return _make_opened(opened.cached, me, page.of(Message), has_older=has_older, has_newer=True)


class ChangedMessages(NamedTuple):
    messages: list[Message]
    # The oldest message that was compared, if the client's window begins earlier.
    window_from: str | None = None


def list_changed(opened: OpenedThread, *, oldest: str, newest: str, since: int) -> ChangedMessages:
    """Messages edited, removed, hidden or reacted to in a client's window, in order of change.

    Reads at most the newest SYNC_WINDOW messages of the window.
    """
    if opened.cached.thread.rev <= since or keys.message_sk(oldest) > keys.message_sk(newest):
        return ChangedMessages([])
    messages, is_whole = _read_window(opened.cached.thread.pk, oldest, newest)
    window = OpenedThread(opened.cached, opened.me, messages)
    with_quotes(window)
    from_seq = opened.me.visible_from_seq
    changed = [one for one in _with_quoted(window) if one.rev > since and one.seq >= from_seq]
    window_from = None if is_whole or not messages else messages[0].id
    return ChangedMessages(sorted(changed, key=lambda one: one.rev), window_from)


def _read_window(pk: str, oldest: str, newest: str) -> tuple[list[Message], bool]:
    """The newest messages of a window in order, and whether they are all of it."""
    where = Item.sk.between(keys.message_sk(oldest), keys.message_sk(newest))
    messages: list[Message] = []
    after = None
    while len(messages) < settings.SYNC_WINDOW:
        limit = min(WINDOW_PAGE, settings.SYNC_WINDOW - len(messages))
        page = query(pk, where, limit=limit, newest_first=True, after=after)
        messages += page.of(Message)
        after = page.next_key
        if after is None:
            break
    is_whole = after is None or messages[-1].id == oldest
    return messages[::-1], is_whole


def _with_quoted(window: OpenedThread) -> list[Message]:
    """Includes quoted messages from outside the window, since quotes show their changes."""
    included = {message.id for message in window.messages}
    quoted = [message.reply_to for message in window.messages if message.reply_to]
    found = [
        window.cached.quoted.get(message_id) for message_id in quoted if message_id not in included
    ]
    return window.messages + [message for message in found if message is not None]


def catch_up(user: User, thread_id: str, *, after: str) -> OpenedThread:
    """The messages after the last one that a client has, with the current thread."""
    opened = open_thread(user, thread_id, after=after)
    if not opened.has_older:
        return opened
    # More than a page was missed: continue at the client's last message, not at the end.
    page = query(
        opened.cached.thread.pk, _messages_since(keys.message_sk(after)), limit=PAGE_SIZE + 1
    )
    missed = [message for message in page.of(Message) if message.id != after]
    if missed and missed[-1].seq < opened.me.visible_from_seq:
        # The user left and rejoined, and has a message from before: start over at the end.
        return opened
    return _make_opened(opened.cached, opened.me, missed, has_older=False, has_newer=page.has_more)


def _page_beside(
    user: User, thread_id: str, message_id: str, *, newest_first: bool
) -> OpenedThread:
    cached = access_participants(user, thread_id)
    me = cached.people[user.id]
    sk = keys.message_sk(message_id)
    where = _messages_up_to(sk) if newest_first else _messages_since(sk)
    page = query(keys.thread_pk(thread_id), where, limit=PAGE_SIZE + 1, newest_first=newest_first)
    messages = [message for message in page.of(Message) if message.id != message_id][:PAGE_SIZE]
    if newest_first:
        return _make_opened(cached, me, messages[::-1], has_older=page.has_more, has_newer=True)
    return _make_opened(cached, me, messages, has_older=True, has_newer=page.has_more)


def _make_opened(
    cached: CachedThread,
    me: Participant,
    messages: list[Message],
    *,
    has_older: bool,
    has_newer: bool = False,
) -> OpenedThread:
    """Leaves out messages from before the participant joined."""
    visible = [message for message in messages if message.seq >= me.visible_from_seq]
    reached_start = bool(messages) and messages[0].seq <= me.visible_from_seq
    has_older = has_older and not reached_start
    return with_quotes(OpenedThread(cached, me, visible, has_older, has_newer))


def with_quotes(opened: OpenedThread) -> OpenedThread:
    """Adds the quoted messages; those that are not on the page cost one more request."""
    quoted = opened.cached.quoted
    quoted |= {message.id: message for message in opened.messages}
    wanted = {message.reply_to for message in opened.messages if message.reply_to} - quoted.keys()
    if wanted:
        pk = keys.thread_pk(opened.me.thread_id)
        found = get_many([(pk, keys.message_sk(message_id)) for message_id in sorted(wanted)])
        quoted |= {item.id: item for item in found if isinstance(item, Message)}
    return opened


class PendingThreads(NamedTuple):
    rows: list[dict[str, Any]]
    has_more: bool


async def list_pending(user: User) -> PendingThreads:
    """Threads with messages that were delivered to none of the user's devices."""
    recent = await recent_writes.list_threads_async(user.id)
    read_index = async_table.query_index(
        Item.pending, keys.pending_pk(user.id), limit=MAX_PENDING + len(recent)
    )
    if not recent:
        page = await read_index
        return _pending_threads(page.of(Participant), page.has_more)
    sk = keys.participant_sk(user.id)
    read_rows = async_table.get_many([(keys.thread_pk(thread_id), sk) for thread_id in recent])
    page, items = await asyncio.gather(read_index, read_rows)
    # The index may be older than these rows.
    unchanged = [row for row in page.of(Participant) if row.thread_id not in recent]
    changed = [row for row in items if isinstance(row, Participant) and row.pending_pk is not None]
    return _pending_threads(unchanged + changed, page.has_more)


def _pending_threads(pending: list[Participant], has_more: bool) -> PendingThreads:
    pending.sort(key=lambda row: row.thread_id)
    rows = [
        {
            "thread": row.thread_id,
            "first_undelivered": row.first_undelivered_message_id,
            "first_undelivered_seq": row.first_undelivered_seq,
        }
        for row in pending[:MAX_PENDING]
    ]
    return PendingThreads(rows, has_more or len(pending) > MAX_PENDING)


class ThreadPosition(NamedTuple):
    last_seq: int
    rev: int


async def list_positions(thread_ids: Iterable[str]) -> dict[str, ThreadPosition]:
    """How far threads have got, in one request for a hundred of them."""
    found = await async_table.get_attributes(
        [(keys.thread_pk(thread_id), keys.THREAD) for thread_id in thread_ids],
        ["pk", Thread.last_seq.attr_name, Thread.rev.attr_name],
    )
    return {
        raw["pk"]["S"].removeprefix(Thread.pk_prefix): ThreadPosition(
            int(raw[Thread.last_seq.attr_name]["N"]), int(raw[Thread.rev.attr_name]["N"])
        )
        for raw in found
    }


def list_blocked(user: User, user_ids: Iterable[str]) -> set[str]:
    """The users who blocked this user or are blocked by them."""
    pairs = {keys.pair_pk(user.id, user_id): user_id for user_id in user_ids}
    found = get_many([(pk, keys.STATE) for pk in pairs])
    return {pairs[item.pk] for item in found if isinstance(item, Pair) and item.blocked_by}


def can_skip_request(pair: Pair, asker: User) -> bool:
    """Whether contact was accepted before, or the other user has sent a request."""
    if pair.accepted:
        return True
    is_asked = pair.requested_by is not None and pair.requested_by != asker.id
    return is_asked and (pair.requested_at or "") >= request_cutoff()


def unexpired_requests() -> Condition:
    """A key condition that leaves out expired requests, deleted or not."""
    return InboxIndex.sk >= request_cutoff()


def can_message_directly(user: User, other: User) -> bool:
    """Whether the user can message the other one without a request."""
    pair = Pair.find(keys.pair_pk(user.id, other.id), keys.STATE)
    return pair is not None and can_skip_request(pair, user)


def list_last_seen(user_ids: list[str]) -> dict[str, str]:
    """The times rounded to minutes, by user id."""
    profiles = get_many([(keys.user_pk(user_id), keys.PROFILE) for user_id in user_ids])
    return {
        profile.pk.removeprefix(Profile.pk_prefix): profile.last_seen_at[:16] + "Z"
        for profile in profiles
        if isinstance(profile, Profile) and profile.last_seen_at
    }


def access_participants(user: User, thread_id: str) -> CachedThread:
    """Current and former participants, for a participant: one Query without the thread itself."""
    page = query(
        keys.thread_pk(thread_id),
        Item.sk.between(keys.FORMER_PARTICIPANTS, f"{keys.PARTICIPANTS}~"),
        limit=4 * MAX_PARTICIPANTS,
        newest_first=True,
    )
    people = {person.user_id: person for person in page.of(Participant)}
    if user.id not in people:
        raise Refusal("THREAD_NOT_FOUND")
    former = {left.user_id: left.person for left in page.of(FormerParticipant)}
    return CachedThread(Thread(keys.thread_pk(thread_id), keys.THREAD), people, former)


def list_participants(user: User, thread_id: str) -> list[Participant]:
    return list(access_participants(user, thread_id).people.values())


def get_message(user: User, thread_id: str, message_id: str) -> Message:
    """Reads the message and the permission to see it in one request."""
    pk = keys.thread_pk(thread_id)
    found = get_many([(pk, keys.participant_sk(user.id)), (pk, keys.message_sk(message_id))])
    match sorted(found, key=lambda item: item.sk):
        case [Message() as message, Participant() as me] if message.seq >= me.visible_from_seq:
            return message
    raise Refusal("THREAD_NOT_FOUND")


def get_rows(user: User, thread_ids: list[str]) -> list[Participant]:
    """The user's rows of these threads; threads that they are not in are left out."""
    wanted = [(keys.thread_pk(thread_id), keys.participant_sk(user.id)) for thread_id in thread_ids]
    rows = {row.thread_id: row for row in get_many(wanted) if isinstance(row, Participant)}
    return [rows[thread_id] for thread_id in thread_ids if thread_id in rows]


def list_shared_rows(user: User, other_id: str, *, limit: int) -> list[Participant]:
    """The user's rows of threads that these two started, the most recently active first.

    Threads are read by their age, twice as many as wanted, since a user may have left some.
    """
    pair_pk, where = keys.pair_pk(user.id, other_id), Item.sk.startswith(keys.PAIR_THREADS)
    page = query(pair_pk, where, limit=2 * limit, newest_first=True)
    rows = get_rows(user, [item.thread_id for item in page.of(PairThread)])
    shared = [row for row in rows if row.other_side["id"] == other_id and not _is_over(row)]
    return sorted(shared, key=lambda row: row.last_message_at, reverse=True)[:limit]


def _is_over(row: Participant) -> bool:
    """Whether it is a request that was declined or has expired."""
    is_unanswered = row.request_state in (REQUEST_SENT, REQUEST_RECEIVED)
    return row.request_state == REQUEST_DECLINED or (is_unanswered and row.is_request_expired)


def list_all_rows(user_id: str) -> list[Participant]:
    """The user's rows in all folders."""
    rows: list[Participant] = []
    for folder in (INBOX, REQUESTS, ARCHIVED_FOLDER, SPAM):
        pk, after = keys.inbox_pk(user_id, folder), None
        while True:
            page = query(pk, limit=PENDING_PAGE, index=Item.inbox, after=after, newest_first=True)
            rows += [row for row in page.of(Participant) if not isinstance(row, Invitation)]
            after = page.next_key
            if after is None:
                break
    # A row that moved during the read may be in two folders, or in none.
    indexed = {row.thread_id: row for row in rows}
    return RecentRows(user_id).merge(indexed.values(), lambda row: not isinstance(row, Invitation))


def list_invitations(user_id: str) -> list[Invitation]:
    """All stored invitations of a user, answered or not."""
    indexed = {
        item.thread_id: item
        for folder in (REQUESTS, ARCHIVED_FOLDER, SPAM)
        for item in query_all(keys.inbox_pk(user_id, folder), index=Item.inbox)
        if isinstance(item, Invitation)
    }
    rows = RecentRows(user_id).merge(indexed.values(), lambda row: isinstance(row, Invitation))
    return [row for row in rows if isinstance(row, Invitation)]


def open_invitation(user: User, thread_id: str) -> tuple[CachedThread, Invitation]:
    """The thread of an invitation: invited users can see its participants and subject."""
    cached = cache.load(thread_id)
    invitation = cached.invited.get(user.id) if cached else None
    if cached is None or invitation is None:
        raise Refusal("THREAD_NOT_FOUND")
    return cached, invitation


def _messages_up_to(sk: str) -> Condition:
    return Item.sk.between(keys.MESSAGES, sk)


def _messages_since(sk: str) -> Condition:
    return Item.sk.between(sk, f"{keys.MESSAGES}~")
