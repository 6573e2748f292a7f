"""Saying something in a thread."""

from accounts.models import User
from accounts.refusals import Refusal
from threads.markdown import to_text
from threads.models import Message, Participant, keys
from threads.models.message import MAX_BODY, PREVIEW
from threads.state import ThreadState
from threads.telling import tell_appended
from threads.writing import Line, Roster, append, find_stored
from threads.writing.line import now_ms


def send_message(
    sender: User,
    *,
    thread_id: str,
    client_id: str,
    body: str,
    seen_seq: int = 0,
    reply_to: str | None = None,
) -> Message:
    """Stores a message once, however often it is sent with the same client id, and tells people."""
    line = text_line(
        sender.id, client_id=client_id, body=body, seen_seq=seen_seq, reply_to=reply_to
    )
    quoted = _find_quoted(thread_id, reply_to)

    def plan(state: ThreadState) -> tuple[Line, Roster]:
        check_may_write(state, sender.id)
        if reply_to and not _can_quote(quoted, state.people[sender.id]):
            raise Refusal("BAD_FRAME", "The message that you answer is not there.")
        return line, Roster()

    try:
        appended = append(thread_id, plan)
    except Refusal:
        stored = find_stored(thread_id, line)
        if stored is None:
            raise
        return stored
    if quoted is not None:
        appended.state.quoted[quoted.id] = quoted
    tell_appended(appended)
    return appended.message


def _find_quoted(thread_id: str, reply_to: str | None) -> Message | None:
    if reply_to is None:
        return None
    return Message.find(keys.thread_pk(thread_id), keys.message_sk(reply_to))


def _can_quote(quoted: Message | None, person: Participant) -> bool:
    """Only what they may see themselves."""
    return quoted is not None and quoted.seq >= person.visible_from_seq


def text_line(
    author_id: str, *, client_id: str, body: str, seen_seq: int = 0, reply_to: str | None = None
) -> Line:
    body = check_body(body)
    return Line(
        client_id=client_id,
        body=body,
        preview=to_text(body)[:PREVIEW],
        author_id=author_id,
        seen_seq=seen_seq,
        reply_to=reply_to,
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
    check_not_waiting(person.blocked_until)


def check_not_waiting(until: str | None) -> None:
    wait = seconds_until(until)
    if wait > 0:
        raise Refusal(
            "RATE_LIMITED", f"You can write again in {say_duration(wait)}.", retry_after=wait
        )


def say_duration(seconds: int) -> str:
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1)):
        # Rounded up, and in the largest unit of which there are two.
        if seconds >= 2 * length or length == 1:
            count = -(-seconds // length)
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return ""


def check_is_open(state: ThreadState) -> None:
    if state.thread.is_locked:
        raise Refusal("THREAD_LOCKED")
    if state.thread.soft_block:
        raise Refusal("SAFETY_SOFT_BLOCK")


def seconds_until(moment: str | None) -> int:
    if moment is None:
        return 0
    return round(keys.moment(moment).timestamp() - now_ms() / 1000 + 0.5)
