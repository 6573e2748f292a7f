"""Answering a first contact: accepting opens the conversation, declining tells nobody anything."""

from collections.abc import Callable

from pynamodb.expressions.condition import Condition

from accounts.models import User
from core.refusals import Refusal
from realtime.broadcast.delivery import publish
from threads import cache
from threads.actions.folders import placement_change
from threads.actions.invitations import accept_invitation, decline_invitation
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.dynamodb.change import Change
from threads.dynamodb.retry import Backoff
from threads.dynamodb.store import StoreUnavailable
from threads.dynamodb.transactions import Transaction, TransactionCancelled
from threads.events import full_inbox_changed, publish_thread_changed
from threads.models import Pair, Participant
from threads.models.participant import (
    ARCHIVED_FOLDER,
    INBOX,
    REQUEST_DECLINED,
    REQUEST_RECEIVED,
    REQUEST_SENT,
    SPAM,
)
from threads.sending.rows import read_cursor_unchanged


def accept_request(user: User, *, thread_id: str) -> None:
    """From here on both may write, and these two need not ask again."""

    def build(cached: CachedThread, me: Participant) -> Transaction:
        if me.is_request_expired:
            raise Refusal(
                "ACTION_FORBIDDEN",
                "This request has expired.",
                hint="You can write to them from their profile.",
            )
        asker = _asker(cached)
        write = Transaction()
        write.update("me", me, _placed(me, folder=INBOX, request_state=None), _as_read(me))
        asked = Change(remove=("request_state",))
        write.update("asker", asker, asked, Participant.request_state == REQUEST_SENT)
        pair = Pair(keys.pair_pk(me.user_id, asker.user_id), keys.STATE)
        accepted = Change(set={"accepted": True}, remove=("requested_by", "requested_at"))
        write.update("pair", pair, accepted, Pair.blocked_by.does_not_exist())
        return write

    cached = cache.reload(thread_id)
    if user.id in cached.invited:
        accept_invitation(user, thread_id=thread_id)
    elif _answer(user, cached, build):
        _tell_accepted(thread_id)


def decline_request(user: User, *, thread_id: str, as_spam: bool = False) -> None:
    """For the one who asked nothing changes: it stays unanswered until it expires."""

    def build(cached: CachedThread, me: Participant) -> Transaction:
        folder = SPAM if as_spam else ARCHIVED_FOLDER
        write = Transaction()
        change = _placed(me, folder=folder, request_state=REQUEST_DECLINED)
        write.update("me", me, change, _as_read(me))
        return write

    cached = cache.reload(thread_id)
    if user.id in cached.invited:
        decline_invitation(user, thread_id=thread_id, as_spam=as_spam)
    elif _answer(user, cached, build):
        # To oneself alone, and no frame that the other could tell it by.
        publish(full_inbox_changed(cache.reload(thread_id).people[user.id]), to=[user.id])


Build = Callable[[CachedThread, Participant], Transaction]


def _answer(user: User, cached: CachedThread, build: Build) -> bool:
    """On what was just read. False: there is nothing to answer any more, as a repeat finds."""
    backoff, thread_id = Backoff(), cached.thread.id
    while True:
        me = cached.people.get(user.id)
        if me is None:
            raise Refusal("THREAD_NOT_FOUND")
        if me.request_state not in (REQUEST_RECEIVED, REQUEST_DECLINED):
            return False
        try:
            build(cached, me).commit()
        except TransactionCancelled as cancelled:
            if cancelled.failed("pair"):
                raise Refusal("MSG_BLOCKED_BY_USER") from cancelled
            backoff.wait()
        except StoreUnavailable as error:
            # It may have been written: looking again will tell.
            cache.invalidate(thread_id)
            backoff.wait_after(error)
        else:
            return True
        cached = cache.reload(thread_id)


def _tell_accepted(thread_id: str) -> None:
    """Rows of both, as they are now; open pages look again at what they may do."""
    for person in cache.reload(thread_id).people.values():
        publish(full_inbox_changed(person), to=[person.user_id])
    publish_thread_changed(thread_id)


def _asker(cached: CachedThread) -> Participant:
    for person in cached.people.values():
        if person.request_state == REQUEST_SENT:
            return person
    raise Refusal("ACTION_FORBIDDEN", "Nobody waits for an answer here any more.")


def _placed(me: Participant, *, folder: str, request_state: str | None) -> Change:
    return placement_change(me, {"folder": folder, "request_state": request_state})


def _as_read(me: Participant) -> Condition:
    return (
        (Participant.last_seq == me.last_seq)
        & (Participant.folder == me.folder)
        & (Participant.pinned == me.pinned)
        & (Participant.request_state == me.request_state)
        & read_cursor_unchanged(me)
    )
