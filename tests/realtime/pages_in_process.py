"""Sockets on the consumer in this process, so that a test can count what a heartbeat costs."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from channels.testing import WebsocketCommunicator

from accounts.models import User
from realtime.sockets.consumers import MessagingConsumer
from realtime.sockets.heartbeat import INTERVAL_SECONDS
from realtime.sockets.open_sockets import open_sockets
from threads.dynamodb.store import RequestCounter, count_requests
from threads.queries import list_positions

TIMEOUT_SECONDS = 20


class Page:
    """A page of a user that shows a thread."""

    def __init__(self, user: User) -> None:
        self.user = user
        self.communicator = WebsocketCommunicator(self._run, "/ws/")
        self.communicator.scope |= {"user": user, "session_key": f"of {user.id}"}
        self.thread, self.seq, self.rev = "", 0, 0

    async def _run(self, scope: Any, receive: Any, send: Any) -> None:
        with count_requests() as self.requests:
            await MessagingConsumer.as_asgi()(scope, receive, send)

    async def connect(self) -> dict[str, Any]:
        connected, _ = await self.communicator.connect(timeout=TIMEOUT_SECONDS)
        assert connected
        return await self.hear("hello")

    @contextmanager
    def counting(self) -> Iterator[RequestCounter]:
        """The requests that the consumer makes."""
        self.requests.clear()
        yield self.requests

    @property
    def socket(self) -> Any:
        (found,) = [one for one in open_sockets.all() if one.user_id == self.user.id]
        return found

    async def show(self, thread: str) -> None:
        """Opens the thread, and takes the stored position."""
        await self.say("thread.open", thread=thread)
        await self.hear("thread.synced")
        # The command ends with the presence of the others; the next one waits for it.
        await self.ping()
        self.thread = thread
        await self.catch_up()

    async def catch_up(self) -> None:
        (self.seq, self.rev) = (await list_positions([self.thread]))[self.thread]

    async def say(self, type: str, **fields: Any) -> None:
        await self.communicator.send_to(text_data=json.dumps({"type": type, **fields}))

    async def hear(self, *types: str) -> dict[str, Any]:
        while True:
            event = json.loads(await self.communicator.receive_from(timeout=TIMEOUT_SECONDS))
            if event["type"] in types:
                return event

    async def ping(self) -> dict[str, Any]:
        await self.say("ping", t=1, thread=self.thread, seq=self.seq, rev=self.rev)
        return await self.hear("pong")

    async def has_nothing_more(self) -> bool:
        return await self.communicator.receive_nothing(timeout=0.3)

    def wait_for_next_check(self, seconds: float = INTERVAL_SECONDS + 1) -> None:
        """Lets time pass, as far as the heartbeat is concerned."""
        self.socket.is_first_check = False
        self.socket.checked_at -= seconds


@asynccontextmanager
async def open_page(user: User, thread: str = "") -> AsyncIterator[Page]:
    page = Page(user)
    await page.connect()
    try:
        if thread:
            await page.show(thread)
            page.wait_for_next_check()
        yield page
    finally:
        await page.communicator.disconnect(timeout=TIMEOUT_SECONDS)
