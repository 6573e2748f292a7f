"""Changing a stored message: editing, removing, reacting. Earlier versions are kept for staff.

Each change increments the thread's `rev` and stores it in the message, by which a client that
reconnects finds what changed.
"""

import contextlib
import functools
from collections.abc import Callable
from typing import Literal

from accounts.models import User
from core.rate_limits import check_rate_limit
from core.refusals import Refusal
from files.actions import release_files
from threads import cache, policy
from threads.actions.messages import clean_body
from threads.archive.archiver import try_check
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.dynamodb.change import Change
from threads.dynamodb.retry import Backoff
from threads.dynamodb.store import StoreUnavailable
from threads.dynamodb.transactions import TransactionCancelled
from threads.events import publish_revision
from threads.models import Message
from threads.models.message import ACTION, ASSET, EDIT_WINDOW_SECONDS, REACTIONS, TEXT
from threads.permissions import check_can_write, check_is_author
from threads.sending.new_message import now_ms
from threads.sending.revision import Revision, now

# Items have a maximum size, and opening the thread reads all of it.
MAX_HISTORY_BYTES = 200 * 1024

# Returns the change of the message, or None if it already has it.
Decide = Callable[[Message], Change | None]
EventType = Literal["message.edited", "message.removed", "message.reacted", "message.hidden"]


def edit_message(user: User, *, thread_id: str, message_id: str, body: str) -> None:
    body = clean_body(body)
    # Counted once, although `decide` runs again after a conflict.
    check_rate = functools.cache(lambda: check_rate_limit("edit", user.id))

    def decide(message: Message) -> Change | None:
        check_is_author(user, message)
        if message.body == body:
            return None
        age = now_ms() / 1000 - keys.parse_iso(message.created_at).timestamp()
        if message.type not in (TEXT, ASSET) or age > EDIT_WINDOW_SECONDS:
            raise Refusal("MSG_NOT_EDITABLE")
        check_rate()
        policy.check_text(cache.get(thread_id).thread, body, what="Not saved: this")
        return Change(
            set={"body": body, "edited_at": now(), "earlier_bodies": _earlier_bodies(message)}
        )

    revise_message(user, thread_id, message_id, decide, "message.edited")


def remove_message(user: User, *, thread_id: str, message_id: str) -> None:
    def decide(message: Message) -> Change | None:
        if message.author_id == user.id and message.removed_at:
            return None
        check_is_author(user, message)
        if message.type == ACTION:
            raise Refusal(
                "MSG_NOT_EDITABLE", "A card can't be removed.", hint="Withdraw it instead."
            )
        return Change(set={"removed_at": now()})

    removed = revise_message(user, thread_id, message_id, decide, "message.removed")
    if removed.attachments:
        release_files(removed.id)


def set_reaction(user: User, *, thread_id: str, message_id: str, reaction: str, on: bool) -> None:
    if reaction not in REACTIONS:
        raise Refusal("BAD_FRAME", hint="Choose one of the available reactions.")
    check_rate = functools.cache(lambda: check_rate_limit("reaction", user.id))

    def decide(message: Message) -> Change | None:
        if message.is_withheld or not message.has_author:
            raise Refusal("MSG_NOT_EDITABLE", "You can no longer react to this message.")
        given = dict(message.reactions or {})
        people = given.get(reaction, [])
        if on == (user.id in people):
            return None
        check_rate()
        given[reaction] = [*people, user.id] if on else [one for one in people if one != user.id]
        return Change(set={"reactions": {emoji: who for emoji, who in given.items() if who}})

    revise_message(user, thread_id, message_id, decide, "message.reacted")


def _earlier_bodies(message: Message) -> list[dict[str, str]]:
    since = message.edited_at or message.created_at
    bodies = [*(message.earlier_bodies or []), {"body": message.body or "", "since": since}]
    if sum(len(earlier["body"].encode()) for earlier in bodies) > MAX_HISTORY_BYTES:
        raise Refusal("MSG_NOT_EDITABLE", "This message was edited too often to change it again.")
    return bodies


def revise_message(
    user: User | None, thread_id: str, message_id: str, decide: Decide, event_type: EventType
) -> Message:
    """By a participant, or by staff if `user` is None. A repeat changes nothing and publishes the
    event again, which is harmless."""
    with cache.write_lock(thread_id):
        revision = _store(user, thread_id, message_id, decide)
        cached = revision.cached.copy()
    cached.quoted = revision.quoted
    publish_revision(event_type, cached, revision.message)
    if revision.check is not None:
        try_check(revision.check)
    return revision.message


def _store(user: User | None, thread_id: str, message_id: str, decide: Decide) -> Revision:
    backoff = Backoff()
    while True:
        revision = _prepare(user, thread_id, message_id, decide)
        if revision.is_done:
            return revision
        try:
            revision.commit(user.id if user else None)
            return revision
        except TransactionCancelled:
            cache.invalidate(thread_id)
            backoff.wait()
        except StoreUnavailable as error:
            # It may have been written: the next read shows it.
            cache.invalidate(thread_id)
            backoff.wait_after(error)


def _prepare(user: User | None, thread_id: str, message_id: str, decide: Decide) -> Revision:
    """Uses the cache only for a change that is to be written; a refusal needs a fresh read."""
    cached = cache.peek(thread_id)
    if cached is not None:
        with contextlib.suppress(Refusal):
            revision = _build(user, cached, message_id, decide)
            if not revision.is_done:
                return revision
    return _build(user, cache.reload(thread_id), message_id, decide)


def _build(user: User | None, cached: CachedThread, message_id: str, decide: Decide) -> Revision:
    if user is not None:
        check_can_write(cached, user.id)
    message = _find(cached, message_id)
    from_seq = cached.people[user.id].visible_from_seq if user else 0
    if message is None or message.seq < from_seq:
        raise Refusal("THREAD_NOT_FOUND", "This message doesn't exist.")
    revision = Revision(cached, message, decide(message) or Change())
    quoted = _find(cached, message.reply_to) if message.reply_to else None
    if quoted is not None:
        revision.quoted[quoted.id] = quoted
    return revision


def _find(cached: CachedThread, message_id: str) -> Message | None:
    return Message.find(cached.thread.pk, keys.message_sk(message_id))
