"""The socket: a switchboard. Commands go to their actions, events go out to the page."""

import secrets
from typing import Any

import structlog
from asgiref.sync import sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer

from accounts.ids import new_id
from accounts.models import User
from accounts.refusals import Refusal
from realtime.commands import handle
from realtime.delivery import group_of
from realtime.events import Error, Event, Hello, Pong
from realtime.frames import MOST_BYTES, FrameTooLarge, decode, encode
from threads.models import keys
from threads.writing.line import now_ms

log = structlog.get_logger(__name__)

PROTOCOL = 1
# What the client makes of a close: sign in again; mend what it sends.
SIGNED_OUT, TOO_LARGE = 4401, 4413


class Socket(AsyncWebsocketConsumer):
    user: User

    async def connect(self) -> None:
        user: Any = self.scope["user"]
        # Accepted even if only to be closed: a browser is not told why a handshake failed.
        await self.accept()
        if not user.is_authenticated or not user.is_active:
            await self.close(SIGNED_OUT)
            return
        self.user = user
        self.connection_id = new_id("conn")
        structlog.contextvars.bind_contextvars(connection=self.connection_id)
        await self.channel_layer.group_add(group_of(user.id), self.channel_name)
        await self._say(self._hello())

    async def disconnect(self, code: int) -> None:
        if hasattr(self, "user"):
            await self.channel_layer.group_discard(group_of(self.user.id), self.channel_name)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """One after the other, in the order in which the client gave them."""
        if not hasattr(self, "user"):
            return
        frame: dict[str, Any] = {}
        try:
            if text_data is None:
                raise Refusal("BAD_FRAME", hint="Frames are text.")
            frame = decode(text_data)
            await self._answer(frame)
        except Refusal as refusal:
            await self._refuse(refusal, frame)
        except FrameTooLarge:
            limit = f"A frame can have at most {MOST_BYTES // 1024} KB."
            await self._refuse(Refusal("BAD_FRAME", hint=limit), frame)
            await self.close(TOO_LARGE)
        except Exception:
            log.exception("command_failed", command=frame.get("type"))
            await self._refuse(Refusal("TRY_AGAIN"), frame)

    async def _answer(self, frame: dict[str, Any]) -> None:
        if frame["type"] == "ping":
            await self._say(Pong(type="pong", t=frame.get("t"), pending=[]))
            return
        # Commands touch only the table, so they need not queue for the one thread of the ORM.
        answer = await sync_to_async(handle, thread_sensitive=False)(self.user, frame)
        if answer is not None:
            await self._say(answer)

    async def _refuse(self, refusal: Refusal, frame: dict[str, Any]) -> None:
        corr_id = secrets.token_hex(8)
        log.info("refused", code=refusal.code, command=frame.get("type"), corr_id=corr_id)
        error = Error(type="error", **refusal.described(corr_id))  # type: ignore[typeddict-item]
        client_id = frame.get("client_id")
        if isinstance(client_id, str):
            error["client_id"] = client_id
        await self._say(error)

    async def tell(self, message: dict[str, Any]) -> None:
        """Every event that happened, on its way to this page."""
        await self._say(message["event"])

    async def _say(self, event: Event) -> None:
        await self.send(text_data=encode(event))

    def _hello(self) -> Hello:
        return Hello(
            type="hello",
            user=self.user.id,
            connection=self.connection_id,
            server_time=keys.iso(keys.moment_of_ms(now_ms())),
            protocol=PROTOCOL,
            pending=[],
            more=False,
        )
