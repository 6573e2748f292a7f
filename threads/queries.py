"""Reading threads. Whoever may not see one is told that it does not exist."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.conf import settings
from pynamodb.expressions.condition import Condition

from accounts.models import User
from core.refusals import Refusal
from threads import cache
from threads.cache import CachedThread, from_page
from threads.dynamodb import keys
from threads.dynamodb.table import InboxIndex, Item, get_many, query, query_all
from threads.models import (
    FormerParticipant,
    Invitation,
    Message,
    Pair,
    Participant,
    Profile,
    Thread,
)
from threads.models.participant import ARCHIVED_FOLDER, INBOX, REQUESTS, SPAM, request_cutoff
from threads.models.recent_rows import RecentRows
from threads.models.tab import TAB_NAMES
from threads.models.thread import MAX_PARTICIPANTS

PAGE_SIZE = 50
HEAD = 1 + len(TAB_NAMES)
MAX_PENDING = 100
PENDING_PAGE = 100
WINDOW_PAGE = 250


@dataclass
class OpenedThread:
    """A thread as one participant sees it, with a stretch of its messages, oldest first."""

    cached: CachedThread
    me: Participant
    messages: list[Message]
    has_older: bool = False
    has_newer: bool = False


def open_thread(user: User, thread_id: str, *, after: str | None = None) -> OpenedThread:
    """The thread, its people and its newest messages (or those after one): one Query."""
    floor = keys.message_sk(after) if after else keys.MESSAGES
    page = query(
        keys.thread_pk(thread_id),
        Item.sk >= floor,
        limit=HEAD + _people_expected(thread_id) + PAGE_SIZE + 1,
        newest_first=True,
    )
    cached = from_page(page)
    if cached is None or user.id not in cached.people:
        raise Refusal("THREAD_NOT_FOUND")
    if page.more and len(page.of(Message)) < PAGE_SIZE:
        # So many have left that their names took the messages' place.
        where = Item.sk.between(floor, f"{keys.MESSAGES}~")
        page = query(cached.thread.pk, where, limit=PAGE_SIZE + 1, newest_first=True)
    newest = [message for message in page.of(Message) if message.id != after]
    me = cached.people[user.id]
    # A copy: what others write meanwhile must not get into the page that is made of this one.
    cache.put(cached.copy())
    shown = newest[:PAGE_SIZE]
    return _opened(cached, me, shown[::-1], has_older=page.more or len(newest) > PAGE_SIZE)


def _people_expected(thread_id: str) -> int:
    """So that the limit leaves room for a page of messages and does not read much more."""
    believed = cache.peek(thread_id)
    if believed is None:
        return MAX_PARTICIPANTS
    return len(believed.people) + len(believed.former) + len(believed.invited)


def open_thread_at(user: User, thread_id: str, message_id: str) -> OpenedThread:
    """The thread around one message; three requests at most."""
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
        raise Refusal("THREAD_NOT_FOUND", "There is no such message.")
    after = query(pk, _messages_from(sk), limit=PAGE_SIZE // 2 + 1)
    later = [message for message in after.of(Message) if message.id != message_id]
    shown = [message for message in messages + later if message.seq >= from_seq]
    return shown, before.more and shown[0].seq > from_seq, after.more


def list_older(user: User, thread_id: str, *, before: str) -> OpenedThread:
    """The page above a message: people and access in one request, messages in another."""
    return _page_beside(user, thread_id, before, newest_first=True)


def list_newer(user: User, thread_id: str, *, after: str) -> OpenedThread:
    return _page_beside(user, thread_id, after, newest_first=False)


def open_thread_at_first_unread(user: User, thread_id: str) -> OpenedThread:
    """Where reading stopped: the newest page, or, if that lies further back, the one from there."""
    opened = open_thread(user, thread_id)
    me, messages = opened.me, opened.messages
    if not me.unread or not messages or me.last_read_seq + 1 >= messages[0].seq:
        return opened
    floor = keys.message_sk(me.last_read_message_id) if me.last_read_message_id else keys.MESSAGES
    page = query(opened.cached.thread.pk, _messages_from(floor), limit=PAGE_SIZE)
    has_older = me.last_read_message_id is not None
    return _opened(opened.cached, me, page.of(Message), has_older=has_older, has_newer=True)


class ChangedMessages(NamedTuple):
    messages: list[Message]
    # The oldest message that was compared, if the client's window goes further back.
    window_from: str | None = None


def list_changed(opened: OpenedThread, *, oldest: str, newest: str, since: int) -> ChangedMessages:
    """What was edited, removed, hidden or reacted to in a client's window, as it happened.

    Reads the newest SYNC_WINDOW messages of the window, however far back it reaches.
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
    """The newest messages of a window in order, and whether these are all."""
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
    """The quoted ones too, wherever they stand: what became of them shows in the quotes."""
    known = {message.id for message in window.messages}
    quoted = [message.reply_to for message in window.messages if message.reply_to]
    found = [
        window.cached.quoted.get(message_id) for message_id in quoted if message_id not in known
    ]
    return window.messages + [message for message in found if message is not None]


def catch_up(user: User, thread_id: str, *, after: str) -> OpenedThread:
    """What came after a message that a client holds, in order, with the thread as it is now."""
    opened = open_thread(user, thread_id, after=after)
    if not opened.has_older:
        return opened
    # More than a page was missed: begin where the client stopped, not at the end.
    page = query(
        opened.cached.thread.pk, _messages_from(keys.message_sk(after)), limit=PAGE_SIZE + 1
    )
    missed = [message for message in page.of(Message) if message.id != after]
    if missed and missed[-1].seq < opened.me.visible_from_seq:
        # They went and came back, and hold a message from before: begin anew, at the end.
        return opened
    return _opened(opened.cached, opened.me, missed, has_older=False, has_newer=page.more)


def _page_beside(
    user: User, thread_id: str, message_id: str, *, newest_first: bool
) -> OpenedThread:
    cached = access_participants(user, thread_id)
    me = cached.people[user.id]
    sk = keys.message_sk(message_id)
    where = _messages_up_to(sk) if newest_first else _messages_from(sk)
    page = query(keys.thread_pk(thread_id), where, limit=PAGE_SIZE + 1, newest_first=newest_first)
    messages = [message for message in page.of(Message) if message.id != message_id][:PAGE_SIZE]
    if newest_first:
        return _opened(cached, me, messages[::-1], has_older=page.more, has_newer=True)
    return _opened(cached, me, messages, has_older=True, has_newer=page.more)


def _opened(
    cached: CachedThread,
    me: Participant,
    messages: list[Message],
    *,
    has_older: bool,
    has_newer: bool = False,
) -> OpenedThread:
    """Nothing from before somebody came, whatever was asked for."""
    visible = [message for message in messages if message.seq >= me.visible_from_seq]
    reached_start = bool(messages) and messages[0].seq <= me.visible_from_seq
    has_older = has_older and not reached_start
    return with_quotes(OpenedThread(cached, me, visible, has_older, has_newer))


def with_quotes(opened: OpenedThread) -> OpenedThread:
    """The messages that these quote: those at hand, and the rest by one more request."""
    quoted = opened.cached.quoted
    quoted |= {message.id: message for message in opened.messages}
    wanted = {message.reply_to for message in opened.messages if message.reply_to} - quoted.keys()
    if wanted:
        pk = keys.thread_pk(opened.me.thread_id)
        found = get_many([(pk, keys.message_sk(message_id)) for message_id in sorted(wanted)])
        quoted |= {item.id: item for item in found if isinstance(item, Message)}
    return opened


def list_pending(user: User) -> tuple[list[dict[str, Any]], bool]:
    """Conversations with something that no device of this person has yet, and whether more."""
    fresh = RecentRows(user.id)
    limit = MAX_PENDING + len(fresh.threads)
    page = query(keys.pending_pk(user.id), limit=limit, index=Item.pending)
    pending = fresh.merge(page.of(Participant), lambda row: row.pending_pk is not None)
    pending.sort(key=lambda row: row.thread_id)
    rows = [
        {
            "thread": row.thread_id,
            "first_undelivered": row.first_undelivered_message_id,
            "first_undelivered_seq": row.first_undelivered_seq,
        }
        for row in pending[:MAX_PENDING]
    ]
    return rows, page.more or len(pending) > MAX_PENDING


def list_blocked(user: User, user_ids: Iterable[str]) -> set[str]:
    """Those of them with whom this person has no contact, whoever of the two wants it so."""
    pairs = {keys.pair_pk(user.id, user_id): user_id for user_id in user_ids}
    found = get_many([(pk, keys.STATE) for pk in pairs])
    return {pairs[item.pk] for item in found if isinstance(item, Pair) and item.blocked_by}


def can_skip_request(pair: Pair, asker: User) -> bool:
    """They have talked before, or the other one has asked first."""
    if pair.accepted:
        return True
    is_asked = pair.requested_by is not None and pair.requested_by != asker.id
    return is_asked and (pair.requested_at or "") >= request_cutoff()


def unexpired_requests() -> Condition:
    """A request that nobody answered in time is no longer shown, swept away or not."""
    return InboxIndex.sk >= request_cutoff()


def can_message_directly(user: User, other: User) -> bool:
    """Without asking first."""
    pair = Pair.find(keys.pair_pk(user.id, other.id), keys.STATE)
    return pair is not None and can_skip_request(pair, user)


def list_last_seen(user_ids: list[str]) -> dict[str, str]:
    """To the minute: presence is a hint."""
    profiles = get_many([(keys.user_pk(user_id), keys.PROFILE) for user_id in user_ids])
    return {
        profile.pk.removeprefix(Profile.pk_prefix): profile.last_seen_at[:16] + "Z"
        for profile in profiles
        if isinstance(profile, Profile) and profile.last_seen_at
    }


def access_participants(user: User, thread_id: str) -> CachedThread:
    """Who is and was in a thread, for somebody who is: one Query. The thread itself is not read."""
    page = query(
        keys.thread_pk(thread_id),
        Item.sk.between(keys.FORMER_PARTICIPANTS, f"{keys.PARTICIPANTS}~"),
        limit=4 * MAX_PARTICIPANTS,
        newest_first=True,
    )
    people = {person.user_id: person for person in page.of(Participant)}
    if user.id not in people:
        raise Refusal("THREAD_NOT_FOUND")
    former = {gone.user_id: gone.person for gone in page.of(FormerParticipant)}
    return CachedThread(Thread(keys.thread_pk(thread_id), keys.THREAD), people, former)


def list_participants(user: User, thread_id: str) -> list[Participant]:
    return list(access_participants(user, thread_id).people.values())


def get_message(user: User, thread_id: str, message_id: str) -> Message:
    """One request: whether they may see it comes with it."""
    pk = keys.thread_pk(thread_id)
    found = get_many([(pk, keys.participant_sk(user.id)), (pk, keys.message_sk(message_id))])
    match sorted(found, key=lambda item: item.sk):
        case [Message() as message, Participant() as me] if message.seq >= me.visible_from_seq:
            return message
    raise Refusal("THREAD_NOT_FOUND")


def get_rows(user: User, thread_ids: list[str]) -> list[Participant]:
    """Many threads by id, as this person's rows; those they are not in are left out."""
    wanted = [(keys.thread_pk(thread_id), keys.participant_sk(user.id)) for thread_id in thread_ids]
    rows = {row.thread_id: row for row in get_many(wanted) if isinstance(row, Participant)}
    return [rows[thread_id] for thread_id in thread_ids if thread_id in rows]


def list_all_rows(user_id: str) -> list[Participant]:
    """Every thread that somebody is in, folder by folder."""
    rows: list[Participant] = []
    for folder in (INBOX, REQUESTS, ARCHIVED_FOLDER, SPAM):
        pk, after = keys.inbox_pk(user_id, folder), None
        while True:
            page = query(pk, limit=PENDING_PAGE, index=Item.inbox, after=after, newest_first=True)
            rows += [row for row in page.of(Participant) if not isinstance(row, Invitation)]
            after = page.next_key
            if after is None:
                break
    # A row that moved while the index was read may be in two folders, or in none.
    indexed = {row.thread_id: row for row in rows}
    return RecentRows(user_id).merge(indexed.values(), lambda row: not isinstance(row, Invitation))


def list_invitations(user_id: str) -> list[Invitation]:
    """Every invitation of a person that is stored, answered or not."""
    indexed = {
        item.thread_id: item
        for folder in (REQUESTS, ARCHIVED_FOLDER, SPAM)
        for item in query_all(keys.inbox_pk(user_id, folder), index=Item.inbox)
        if isinstance(item, Invitation)
    }
    rows = RecentRows(user_id).merge(indexed.values(), lambda row: isinstance(row, Invitation))
    return [row for row in rows if isinstance(row, Invitation)]


def open_invitation(user: User, thread_id: str) -> tuple[CachedThread, Invitation]:
    """What somebody who was invited may see before they accept: who is there, and what about."""
    cached = cache.load(thread_id)
    invitation = cached.invited.get(user.id) if cached else None
    if cached is None or invitation is None:
        raise Refusal("THREAD_NOT_FOUND")
    return cached, invitation


def _messages_up_to(sk: str) -> Condition:
    return Item.sk.between(keys.MESSAGES, sk)


def _messages_from(sk: str) -> Condition:
    return Item.sk.between(sk, f"{keys.MESSAGES}~")
