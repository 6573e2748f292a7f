"""What a client may ask for: each command is a form and an action or query. docs/protocol.md."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from accounts.models import User
from accounts.refusals import Refusal
from realtime.events import Event, ThreadSynced
from threads.actions.cursors import mark_delivered, mark_read
from threads.actions.messages import send_message
from threads.forms import Command, MoveCursor, OpenThread, SendMessage
from threads.queries import Opened, catch_up, open_thread
from threads.telling import message_accepted, message_sent


@dataclass(frozen=True)
class Handler:
    form: type[Command]
    run: Callable[..., Event | None]


def _send(user: User, **arguments: Any) -> Event:
    return message_accepted(send_message(user, **arguments))


def _open(user: User, *, thread_id: str, after: str | None) -> Event:
    if after is None:
        return synced(open_thread(user, thread_id), more=False)
    opened = catch_up(user, thread_id, after=after)
    return synced(opened, more=opened.has_newer)


def synced(opened: Opened, *, more: bool) -> ThreadSynced:
    state = opened.state
    return ThreadSynced(
        type="thread.synced",
        thread=state.thread.id,
        messages=[message_sent(message, state) for message in opened.messages],
        changed=[],
        cursors=[
            {
                "user": person.user_id,
                "delivered_seq": person.delivered_seq,
                "read_seq": person.last_read_seq,
            }
            for person in state.people.values()
        ],
        status=state.thread.status,
        tabs={},
        rev=state.thread.rev,
        last_seq=state.thread.last_seq,
        more=more,
    )


def _mark_read(user: User, **arguments: Any) -> None:
    mark_read(user, **arguments)


def _mark_delivered(user: User, **arguments: Any) -> None:
    mark_delivered(user, **arguments)


COMMANDS: dict[str, Handler] = {
    "message.send": Handler(SendMessage, _send),
    "thread.open": Handler(OpenThread, _open),
    "thread.mark_read": Handler(MoveCursor, _mark_read),
    "thread.mark_delivered": Handler(MoveCursor, _mark_delivered),
}


def handle(user: User, frame: dict[str, Any]) -> Event | None:
    handler = COMMANDS.get(frame["type"])
    if handler is None:
        raise Refusal("BAD_FRAME", hint="We do not know this type of frame.")
    return handler.run(user, **handler.form.read(frame))
