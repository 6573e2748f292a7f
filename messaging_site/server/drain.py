"""Graceful shutdown, as far as it is independent of the server: the ASGI side of a drain.

Readiness checks fail first. Then every socket is closed with 1001 once its current command is
answered, spread over a period so that clients do not all reconnect at once. Requests and commands
in progress are finished.
"""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from functools import partial
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Any, Any, Any], Awaitable[None]]

GOING_AWAY = 1001
# How long requests and commands in progress may take after the server has stopped listening.
MAX_FINISH_SECONDS = 10.0
# Queued behind the frames of a socket: frames before it are answered, frames after it are not.
DRAIN_MESSAGE: Message = {"type": "server.drain"}

# Set when the drain begins. A threading.Event, because /readyz reads it in other threads.
draining = threading.Event()

# Requests and sockets that the application has not finished.
in_progress: set[asyncio.Future[None]] = set()


def drainable(application: Application) -> Application:
    """Wraps an ASGI application so that its sockets and keep-alive connections can be drained."""

    def run(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] == "websocket":
            # Commands that the consumer has begun and not answered yet.
            scope["unfinished"] = set()
            receive = partial(_receive_until_drain, scope["unfinished"], receive, send)
        else:
            send = partial(_send_and_close, send)
        # Created here, not at the first await: a drain must not miss a request that just arrived.
        task = asyncio.ensure_future(application(scope, receive, send))
        in_progress.add(task)
        task.add_done_callback(in_progress.discard)
        return task

    return run


async def _receive_until_drain(
    unfinished: set[asyncio.Future[Any]], receive: Receive, send: Send
) -> Message:
    message = await receive()
    if message is not DRAIN_MESSAGE:
        return message
    while unfinished:
        await asyncio.wait(unfinished)
    await send({"type": "websocket.close", "code": GOING_AWAY})
    # Frames received from now on get no answer, so they are not executed: the client resends them.
    while (message := await receive())["type"] != "websocket.disconnect":
        pass
    return message


async def _send_and_close(send: Send, message: Message) -> None:
    """Ends keep-alive during a drain: the next request has to open a connection elsewhere."""
    if draining.is_set() and message["type"] == "http.response.start":
        message["headers"] = [*message.get("headers", []), (b"connection", b"close")]
    await send(message)


async def run_spread(actions: Sequence[Callable[[], None]], seconds: float) -> None:
    """Calls the actions at even intervals. Takes that many seconds, also when the loop is busy."""
    started = time.monotonic()
    for count, action in enumerate(actions, start=1):
        action()
        await asyncio.sleep(max(0.0, started + seconds * count / len(actions) - time.monotonic()))
    if not actions:
        await asyncio.sleep(seconds)
