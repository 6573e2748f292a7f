"""Saying something in a thread."""

from accounts.models import User
from accounts.refusals import Refusal
from threads.markdown import to_text
from threads.models import Message, keys
from threads.models.message import MAX_BODY, PREVIEW
from threads.state import ThreadState
from threads.telling import tell_appended
from threads.writing import Line, Roster, append, find_stored
from threads.writing.line import now_ms


def send_message(
    sender: User, *, thread_id: str, client_id: str, body: str, seen_seq: int = 0
) -> Message:
    """Stores a message once, however often it is sent with the same client id, and tells people."""
    line = text_line(sender.id, client_id=client_id, body=body, seen_seq=seen_seq)

    def plan(state: ThreadState) -> tuple[Line, Roster]:
        check_may_write(state, sender.id)
        return line, Roster()

    try:
        appended = append(thread_id, plan)
    except Refusal:
        stored = find_stored(thread_id, line)
        if stored is None:
            raise
        return stored
    tell_appended(appended)
    return appended.message


def text_line(author_id: str, *, client_id: str, body: str, seen_seq: int = 0) -> Line:
    body = check_body(body)
    return Line(
        client_id=client_id,
        body=body,
        preview=to_text(body)[:PREVIEW],
        author_id=author_id,
        seen_seq=seen_seq,
    )


def check_body(body: str) -> str:
    """One newline for every kind, nothing that no one could have typed, and not too much."""
    body = body.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "").strip()
    if not body:
        raise Refusal("MSG_EMPTY")
    if len(body) > MAX_BODY:
        raise Refusal("MSG_TOO_LONG")
    return body


def check_may_write(state: ThreadState, user_id: str) -> None:
    person = state.people.get(user_id)
    if person is None:
        raise Refusal("THREAD_NOT_FOUND")
    check_is_open(state)
    if person.blocked_by and not state.is_group:
        raise Refusal("MSG_BLOCKED_BY_USER")
    wait = seconds_until(person.blocked_until)
    if wait > 0:
        raise Refusal("RATE_LIMITED", retry_after=wait)


def check_is_open(state: ThreadState) -> None:
    if state.thread.is_locked:
        raise Refusal("THREAD_LOCKED")
    if state.thread.soft_block:
        raise Refusal("SAFETY_SOFT_BLOCK")


def seconds_until(moment: str | None) -> int:
    if moment is None:
        return 0
    return round(keys.moment(moment).timestamp() - now_ms() / 1000 + 0.5)
