"""What a client may ask for: each command is a form and an action or query. docs/protocol.md."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from accounts.models import User
from core.rate_limits import check_rate_limit
from core.refusals import Refusal
from realtime.broadcast.events import Event
from realtime.sockets.sync import open_and_sync
from threads.actions.cursors import mark_delivered, mark_read
from threads.actions.drafts import save_draft
from threads.actions.messages import send_message
from threads.actions.revisions import edit_message, remove_message, set_reaction
from threads.dynamodb.retry import time_budget
from threads.events import message_accepted
from threads.forms import (
    EditMessage,
    MessageCommand,
    MoveCursor,
    OpenThread,
    ReactToMessage,
    SaveDraft,
    SendMessage,
    ThreadCommand,
)


@dataclass(frozen=True)
class Handler:
    form: type[ThreadCommand]
    run: Callable[..., Event | list[Event] | None]


def _send(user: User, **arguments: Any) -> Event:
    return message_accepted(send_message(user, **arguments))


# Those without an answer of their own: what they did is told to everybody, the asker too.
COMMANDS: dict[str, Handler] = {
    "message.send": Handler(SendMessage, _send),
    "message.edit": Handler(EditMessage, edit_message),
    "message.remove": Handler(MessageCommand, remove_message),
    "message.react": Handler(ReactToMessage, set_reaction),
    "thread.open": Handler(OpenThread, open_and_sync),
    "thread.mark_read": Handler(MoveCursor, mark_read),
    "thread.mark_delivered": Handler(MoveCursor, mark_delivered),
    "draft.save": Handler(SaveDraft, save_draft),
}
# These touch no store, and are answered by the socket itself.
CONNECTION_COMMANDS = ("ping", "thread.close", "typing.start", "typing.stop")


def handle_command(user: User, frame: dict[str, Any]) -> list[Event]:
    handler = COMMANDS.get(frame["type"])
    if handler is None:
        raise Refusal("BAD_FRAME", hint="We do not know this type of frame.")
    check_rate_limit("command", user.id)
    with time_budget():
        answer = handler.run(user, **handler.form.parse(frame))
    if answer is None:
        return []
    return answer if isinstance(answer, list) else [answer]
