"""Binds a thread to its booking, in the transaction of the system message that tells about it."""

from dataclasses import replace

from threads.cache import CachedThread
from threads.models.message import PREVIEW_LENGTH
from threads.rendering.markdown import escape_markdown
from threads.sending import Binding, NewMessage

PANEL_OPENED = "The project panel is open."


def bind_thread(message: NewMessage, binding: Binding | None, cached: CachedThread) -> NewMessage:
    """Adds the binding to the message, unless the thread already has it. The hash of the message
    stays: a repeat no longer binds the thread but is the same message."""
    if binding is None or binding.holds(cached.thread):
        return message
    body = " ".join(filter(None, [message.body, escape_markdown(PANEL_OPENED)]))
    preview = " ".join(filter(None, [message.preview, PANEL_OPENED]))
    return replace(message, body=body, preview=preview[:PREVIEW_LENGTH], binding=binding)
