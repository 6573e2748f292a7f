"""Going away in good order, for a server that is replaced or ended.

Whoever balances hears first that we leave, then every socket is closed with a code that says so,
spread over a while so that not all come back at once, after the command that it is at.
"""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

# Told host and port, once somebody can come.
Ready = Callable[[str, int], None]

GOING_AWAY = 1001
# What is being done when we leave may take so many seconds more.
DRAIN_SECONDS = 10.0
# Put among what a socket's client sent: what came before it is answered, what comes after is not.
DRAIN_MESSAGE: Message = {"type": "server.leave"}

# Asked by /readyz, which runs in other threads.
draining = threading.Event()


def close_on_drain(application: Application) -> Application:
    """The application as it is, but a socket closes when LEAVE is found among its frames."""

    async def run(scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        # What the application has begun and not answered yet.
        scope["unfinished"] = set()

        async def receive_until_leaving() -> Message:
            message = await receive()
            if message is not DRAIN_MESSAGE:
                return message
            while scope["unfinished"]:
                await asyncio.wait(scope["unfinished"])
            await send({"type": "websocket.close", "code": GOING_AWAY})
            return await _closing(receive)

        listens = scope["type"] == "websocket"
        await application(scope, receive_until_leaving if listens else receive, send)

    return run


async def _closing(receive: Receive) -> Message:
    """Commands that come now would be done without an answer: the client sends them again."""
    while (message := await receive())["type"] != "websocket.disconnect":
        pass
    return message


async def run_spread(doings: Sequence[Callable[[], None]], seconds: float) -> None:
    """One after the other, evenly over the time, all of which this takes, and no more however busy
    the event loop is."""
    begun = time.monotonic()
    for count, do in enumerate(doings, start=1):
        do()
        await asyncio.sleep(max(0.0, begun + seconds * count / len(doings) - time.monotonic()))
    if not doings:
        await asyncio.sleep(seconds)
