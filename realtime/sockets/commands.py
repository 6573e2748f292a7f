"""The table of the commands that clients can send. See docs/protocol.md."""

from asyncio import Future
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from accounts.models import User
from core.rate_limits import check_rate_limit
from core.refusals import Refusal
from realtime.broadcast.events import Event
from realtime.sockets.batching import submit_message
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
from threads.models import Message


@dataclass(frozen=True)
class SocketCommand:
    """The form of a command, and the action or query that it runs in a worker thread. Returned
    events are the response; changes are published to all participants, including the sender."""

    form: type[ThreadCommand]
    run: Callable[..., Event | list[Event] | None]
    # Queues the command on the event loop instead, so that several can be in flight.
    submit: Callable[..., Future[Message]] | None = None


def _send_message(user: User, **arguments: Any) -> Event:
    return message_accepted(send_message(user, **arguments))


COMMANDS: dict[str, SocketCommand] = {
    "message.send": SocketCommand(SendMessage, _send_message, submit=submit_message),
    "message.edit": SocketCommand(EditMessage, edit_message),
    "message.remove": SocketCommand(MessageCommand, remove_message),
    "message.react": SocketCommand(ReactToMessage, set_reaction),
    "thread.open": SocketCommand(OpenThread, open_and_sync),
    "thread.mark_read": SocketCommand(MoveCursor, mark_read),
    "thread.mark_delivered": SocketCommand(MoveCursor, mark_delivered),
    "draft.save": SocketCommand(SaveDraft, save_draft),
}
# Commands that only affect the connection; the consumer handles them itself.
CONNECTION_COMMANDS = ("ping", "thread.close", "typing.start", "typing.stop")


def handle_command(user: User, frame: dict[str, Any]) -> list[Event]:
    command = COMMANDS.get(frame["type"])
    if command is None:
        raise Refusal("BAD_FRAME", hint="Unknown frame type.")
    check_rate_limit("command", user.id)
    with time_budget():
        response = command.run(user, **command.form.parse(frame))
    if response is None:
        return []
    return response if isinstance(response, list) else [response]
