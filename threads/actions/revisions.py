"""Changing what was said: editing, removing, reacting. What it was before is kept for staff.

None of these is a send: each adds one to the thread's `rev` and stamps it on the message, which is
how a client that was away finds it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from accounts.models import User
from accounts.refusals import Refusal
from threads import state as states
from threads.actions.messages import check_body, check_may_write
from threads.markdown import to_text
from threads.models import Message, Participant, Thread, keys
from threads.models.changes import Cancelled, Change, Transaction
from threads.models.message import EDITABLE_FOR, PREVIEW, REACTIONS, TEXT
from threads.models.thread import LOCKED
from threads.state import ThreadState
from threads.telling import tell_revised
from threads.writing.build import may_write
from threads.writing.line import now_ms

MOST_RACES = 20
GONE = "Message removed"

# What becomes of the message, or None if it is so already.
Decide = Callable[[Message], Change | None]
Kind = Literal["message.edited", "message.removed", "message.reacted"]


def edit_message(user: User, *, thread_id: str, message_id: str, body: str) -> None:
    body = check_body(body)

    def decide(message: Message) -> Change | None:
        _check_is_mine(user, message)
        if message.body == body:
            return None
        age = now_ms() / 1000 - keys.moment(message.created_at).timestamp()
        if message.type != TEXT or age > EDITABLE_FOR:
            raise Refusal("MSG_NOT_EDITABLE")
        return Change(set={"body": body, "edited_at": _now(), "earlier_bodies": _kept(message)})

    _revise(user, thread_id, message_id, decide, "message.edited")


def remove_message(user: User, *, thread_id: str, message_id: str) -> None:
    def decide(message: Message) -> Change | None:
        if message.author_id == user.id and message.removed_at:
            return None
        _check_is_mine(user, message)
        return Change(set={"removed_at": _now()})

    _revise(user, thread_id, message_id, decide, "message.removed")


def react(user: User, *, thread_id: str, message_id: str, reaction: str, on: bool) -> None:
    if reaction not in REACTIONS:
        raise Refusal("BAD_FRAME", hint="That is not one of the reactions.")

    def decide(message: Message) -> Change | None:
        if message.is_gone or not message.is_by_person:
            raise Refusal("MSG_NOT_EDITABLE", "There is nothing to react to any more.")
        given = dict(message.reactions or {})
        people = [person for person in given.get(reaction, []) if person != user.id]
        given[reaction] = [*people, user.id] if on else people
        if given[reaction] == (message.reactions or {}).get(reaction, []):
            return None
        return Change(set={"reactions": {emoji: who for emoji, who in given.items() if who}})

    _revise(user, thread_id, message_id, decide, "message.reacted")


def _check_is_mine(user: User, message: Message) -> None:
    if message.author_id != user.id or message.is_gone:
        raise Refusal("MSG_NOT_EDITABLE")


def _kept(message: Message) -> list[dict[str, str]]:
    since = message.edited_at or message.created_at
    return [*(message.earlier_bodies or []), {"body": message.body or "", "since": since}]


@dataclass
class _Revision:
    state: ThreadState
    message: Message
    change: Change

    @property
    def is_newest(self) -> bool:
        return self.message.id == self.state.thread.last_message_id


def _revise(user: User, thread_id: str, message_id: str, decide: Decide, kind: Kind) -> None:
    with states.turn(thread_id):
        state, message = _until_stored(user, thread_id, message_id, decide)
    tell_revised(kind, state, message)


def _until_stored(
    user: User, thread_id: str, message_id: str, decide: Decide
) -> tuple[ThreadState, Message]:
    """A repeat finds it done; then people are told again, which harms nobody."""
    for _ in range(MOST_RACES):
        state, message = _access(user, thread_id, message_id)
        change = decide(message)
        if change is None:
            return state.copy(), message
        revision = _Revision(state, message, change)
        try:
            _build(user, revision).commit()
        except Cancelled:
            states.forget(thread_id)
            continue
        _settle(revision)
        return state.copy(), message
    raise Refusal("TRY_AGAIN")


def _access(user: User, thread_id: str, message_id: str) -> tuple[ThreadState, Message]:
    state = states.recall(thread_id)
    try:
        check_may_write(state, user.id)
    except Refusal:
        # What we believe may be old: a refusal is given only after looking.
        state = states.look(thread_id)
        check_may_write(state, user.id)
    message = Message.find(keys.thread_pk(thread_id), keys.message_sk(message_id))
    if message is None or message.seq < state.people[user.id].visible_from_seq:
        raise Refusal("THREAD_NOT_FOUND", "There is no such message.")
    return state, message


def _build(user: User, revision: _Revision) -> Transaction:
    state, message = revision.state, revision.message
    thread = state.thread
    rev = thread.rev + 1
    revision.change.set["rev"] = rev
    write = Transaction()
    write.update("message", message, revision.change, Message.rev == message.rev)
    as_is = (
        (Thread.rev == thread.rev)
        & (Thread.roster_version == thread.roster_version)
        & (Thread.status != LOCKED)
        & Thread.soft_block.does_not_exist()
    )
    if revision.is_newest:
        as_is &= Thread.last_message_id == message.id
    write.update("thread", thread, _thread_change(revision, rev), as_is)
    for person in state.people.values():
        _update_row(write, user, revision, person)
    return write


def _thread_change(revision: _Revision, rev: int) -> Change:
    change = Change(set={"rev": rev, "updated_at": _now()})
    if revision.is_newest:
        change.set["last_message"] = _summary(revision)
    return change


def _update_row(write: Transaction, user: User, revision: _Revision, person: Participant) -> None:
    is_me = person.user_id == user.id
    if revision.is_newest:
        condition = Participant.last_seq == revision.message.seq
        if is_me:
            condition &= may_write(revision.state)
        write.update(person.sk, person, Change(set={"last_message": _summary(revision)}), condition)
    elif is_me:
        write.check(person.sk, person, may_write(revision.state) & Participant.pk.exists())


def _summary(revision: _Revision) -> dict[str, object]:
    message, changes = revision.message, revision.change.set
    text = GONE if "removed_at" in changes else to_text(changes.get("body", message.body) or "")
    return {"author": message.author_id, "type": message.type, "text": text[:PREVIEW]}


def _settle(revision: _Revision) -> None:
    """The belief takes in what was written."""
    revision.change.apply(revision.message)
    with states.changing:
        state = revision.state
        state.thread.rev = revision.message.rev
        if revision.is_newest:
            summary = _summary(revision)
            state.thread.last_message = summary
            for person in state.people.values():
                person.last_message = summary


def _now() -> str:
    return keys.iso(keys.moment_of_ms(now_ms()))
