"""Accepting and declining a request. Declining publishes nothing to its sender."""

from collections.abc import Callable

from django.dispatch import Signal
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
from threads.signals import request_accepted, request_declined


def accept_request(user: User, *, thread_id: str) -> None:
    """Both users can send from here on, and need no further request between them."""

    def build(cached: CachedThread, me: Participant) -> Transaction:
        if me.is_request_expired:
            raise Refusal(
                "ACTION_FORBIDDEN",
                "This request has expired.",
                hint="You can message them from their profile.",
            )
        sender = _sender(cached)
        write = Transaction()
        write.update("me", me, _move(me, folder=INBOX, request_state=None), _row_unchanged(me))
        answered = Change(remove=("request_state",))
        write.update("sender", sender, answered, Participant.request_state == REQUEST_SENT)
        pair = Pair(keys.pair_pk(me.user_id, sender.user_id), keys.STATE)
        accepted = Change(set={"accepted": True}, remove=("requested_by", "requested_at"))
        write.update("pair", pair, accepted, Pair.blocked_by.does_not_exist())
        return write

    cached = cache.reload(thread_id)
    if user.id in cached.invited:
        accept_invitation(user, thread_id=thread_id)
    elif _answer(user, cached, build):
        _publish_accepted(thread_id)
        _send_answered(request_accepted, user, cached)


def decline_request(user: User, *, thread_id: str, as_spam: bool = False) -> None:
    """To the sender the request looks unanswered until it expires."""

    def build(cached: CachedThread, me: Participant) -> Transaction:
        folder = SPAM if as_spam else ARCHIVED_FOLDER
        write = Transaction()
        change = _move(me, folder=folder, request_state=REQUEST_DECLINED)
        write.update("me", me, change, _row_unchanged(me))
        return write

    cached = cache.reload(thread_id)
    if user.id in cached.invited:
        decline_invitation(user, thread_id=thread_id, as_spam=as_spam)
    elif _answer(user, cached, build):
        # Only to the recipient: no event must let the sender notice.
        publish(full_inbox_changed(cache.reload(thread_id).people[user.id]), to=[user.id])
        _send_answered(request_declined, user, cached)


def _send_answered(signal: Signal, user: User, cached: CachedThread) -> None:
    thread = cached.thread
    asked_at = keys.parse_iso(thread.created_at)
    signal.send_robust(None, thread_id=thread.id, user_id=user.id, asked_at=asked_at)


Build = Callable[[CachedThread, Participant], Transaction]


def _answer(user: User, cached: CachedThread, build: Build) -> bool:
    """Writes on condition of the state just read. False if the request is already answered."""
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
            # It may have been written: the next read shows it.
            cache.invalidate(thread_id)
            backoff.wait_after(error)
        else:
            return True
        cached = cache.reload(thread_id)


def _publish_accepted(thread_id: str) -> None:
    """Publishes the rows of both users, and lets open pages refresh their permissions."""
    for person in cache.reload(thread_id).people.values():
        publish(full_inbox_changed(person), to=[person.user_id])
    publish_thread_changed(thread_id)


def _sender(cached: CachedThread) -> Participant:
    for person in cached.people.values():
        if person.request_state == REQUEST_SENT:
            return person
    raise Refusal("ACTION_FORBIDDEN", "This request has already been answered.")


def _move(me: Participant, *, folder: str, request_state: str | None) -> Change:
    return placement_change(me, {"folder": folder, "request_state": request_state})


def _row_unchanged(me: Participant) -> Condition:
    return (
        (Participant.last_seq == me.last_seq)
        & (Participant.folder == me.folder)
        & (Participant.pinned == me.pinned)
        & (Participant.request_state == me.request_state)
        & read_cursor_unchanged(me)
    )
