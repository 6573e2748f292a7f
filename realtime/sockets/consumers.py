"""The socket: a switchboard. Commands go to their actions, events go out to the page."""

import asyncio
import contextlib
import secrets
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import structlog
from asgiref.sync import sync_to_async
from channels.db import database_sync_to_async
from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer
from channels.layers import get_channel_layer
from django.conf import settings
from django.db import OperationalError

from accounts.models import User
from accounts.sign_in.sessions import session_hash
from core import metrics
from core.ids import new_id
from core.rate_limits import TokenBucket
from core.refusals import Refusal
from realtime.broadcast.any_layer import channel_queue
from realtime.broadcast.delivery import ORIGIN, group_of
from realtime.broadcast.events import Error, Event, Hello, LiveChanged
from realtime.sockets.batching import send_batcher
from realtime.sockets.commands import COMMANDS, CONNECTION_COMMANDS, handle_command
from realtime.sockets.frames import MAX_FRAME_BYTES, FrameTooLarge, decode, encode
from realtime.sockets.heartbeat import HeartbeatMixin
from realtime.sockets.open_sockets import open_sockets
from realtime.sockets.presence_updates import PresenceMixin
from realtime.sockets.session_checks import session_checks
from threads.actions.messages import OutgoingMessage
from threads.cache import apply_event
from threads.dynamodb import keys
from threads.dynamodb.errors import StoreUnavailable, should_log
from threads.events import message_accepted
from threads.forms import SendMessage
from threads.models import Message
from threads.queries import list_pending
from threads.sending.new_message import now_ms

log = structlog.get_logger(__name__)

PROTOCOL = 2
# What the client makes of a close: sign in again; stay away, since others took its place; mend what
# it sends; come back more slowly; come back later, when the stores answer again.
SIGNED_OUT, REPLACED, TOO_LARGE, TOO_MANY, NOT_NOW = 4401, 4409, 4413, 4429, 4503
BROKEN = 1011
# Frames over the limit before the socket is closed.
FORBEARANCE = 100
# Messages of one socket that are not answered yet; more are read when one of them is.
MAX_IN_FLIGHT = 32
OF_OPEN_THREADS = ("typing.started", "typing.stopped")
# The event loop itself holds tasks only weakly.
_ending: set[asyncio.Task[None]] = set()


class MessagingConsumer(PresenceMixin, HeartbeatMixin, AsyncWebsocketConsumer):
    user: User
    # When the session was last known to count.
    validated_at: float
    is_ended = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """As Channels does it, without its tasks and threads for every single message."""
        self.scope, self.base_send = scope, send
        layer: Any = get_channel_layer()
        self.channel_layer, self.channel_name = layer, await layer.new_channel()
        # Commands and what comes from elsewhere, one after the other.
        self.turn = asyncio.Lock()
        # Messages on their way, which others may come before. A server that leaves waits for them.
        self.unfinished: set[asyncio.Future[Any]] = scope.get("unfinished", set())
        # Text on its way without waiting, if the server can do that now.
        self.write: Callable[[str], bool] = scope.get("write", _cannot_write)
        self.hearing: asyncio.Task[None] | None = None
        with channel_queue(layer, self.channel_name) as self.mailbox:
            try:
                await self._run(receive)
            finally:
                if hasattr(self, "user"):
                    open_sockets.discard(self)
                self.mailbox.on_mail = None

    async def _run(self, receive: Any) -> None:
        with contextlib.suppress(StopConsumer):
            while True:
                message = await receive()
                async with self.turn:
                    await self.dispatch(message)

    def _on_mail(self) -> None:
        """What can go out at once does; there is a task only for what has to wait."""
        if self.hearing is not None:
            return
        messages = self.mailbox.messages
        while messages and not self.turn.locked() and self._tell_at_once(messages[0]):
            messages.popleft()
        if messages:
            self.hearing = asyncio.create_task(self._hear())

    def _tell_at_once(self, message: dict[str, Any]) -> bool:
        """Whether it is done with. Whoever tells tells others, too, and is not to be disturbed."""
        if message["type"] != "tell" or message["event"]["type"] == "thread.changed":
            return False
        try:
            if self._hears(message):
                if not self.write(message["text"]):
                    return False
                _count_told(message)
        except Exception:
            # What is wrong with it is found once more, and dealt with, by who hears it slowly.
            return False
        return True

    async def _hear(self) -> None:
        """What waits; a quiet socket has no task for it."""
        try:
            while self.mailbox.messages:
                async with self.turn:
                    await self.dispatch(self.mailbox.messages.popleft())
        except Exception:
            log.exception("not_told")
            await self.close(BROKEN)
        finally:
            self.hearing = None

    async def dispatch(self, message: Any) -> None:
        await getattr(self, message["type"].replace(".", "_"))(message)

    async def connect(self) -> None:
        user: Any = self.scope["user"]
        # Accepted even if only to be closed: a browser is not told why a handshake failed.
        await self.accept()
        if not user.is_authenticated or not user.is_active:
            await self.close(SIGNED_OUT)
            return
        self.connection_id = new_id("conn")
        self.session_key = self.scope["session"].session_key
        self.session = session_hash(self.session_key)
        self.frames = TokenBucket(rate=settings.SOCKET_RATE, burst=settings.SOCKET_BURST)
        structlog.contextvars.bind_contextvars(connection=self.connection_id)
        await self.channel_layer.group_add(group_of(user.id), self.channel_name)
        # Itself, and not what finds out at every look who it is.
        self.user = getattr(user, "_wrapped", user)
        self.validated_at = time.monotonic()
        self._register()
        try:
            hello = await self._hello()
        except StoreUnavailable as error:
            # Not ours to mend, and no fault of the page's: it comes back by itself.
            if should_log(error):
                log.warning("socket_not_opened", why=error.why)
            await self.close(NOT_NOW)
            return
        await self.say(hello)
        await self.arrive()
        # Not before: the first that a page hears is the hello.
        self.mailbox.on_mail = self._on_mail
        self._on_mail()

    def _register(self) -> None:
        for replaced in open_sockets.add(self):
            ending = asyncio.create_task(replaced.end(REPLACED, "SOCKET_LIMIT"))
            _ending.add(ending)
            ending.add_done_callback(_ending.discard)
        session_checks.start()

    @property
    def user_id(self) -> str:
        return str(self.user.id)

    async def end(self, code: int, refusal_code: str = "") -> None:
        """Closes the socket; what the client sends from now on is ignored."""
        if self.is_ended:
            return
        self.is_ended = True
        if refusal_code:
            await self._refuse(Refusal(refusal_code), {})
        await self.close(code)

    async def disconnect(self, code: int) -> None:
        await self._finish()
        if hasattr(self, "user"):
            await self.channel_layer.group_discard(group_of(self.user.id), self.channel_name)
            await self.depart()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """One after the other, in the order in which the client gave them."""
        if not hasattr(self, "user") or self.is_ended:
            return
        frame: dict[str, Any] = {}
        try:
            self._check_rate()
            if text_data is None:
                raise Refusal("BAD_FRAME", hint="Frames are text.")
            frame = decode(text_data)
            metrics.COMMANDS.labels(_known(frame["type"])).inc()
            if frame["type"] == "message.send":
                await self._send(frame)
            else:
                await self._finish()
                await self._answer(frame)
        except FrameTooLarge:
            limit = f"A frame can have at most {MAX_FRAME_BYTES // 1024} KB."
            await self._refuse(Refusal("BAD_FRAME", hint=limit), frame)
            await self.close(TOO_LARGE)
        except Exception as error:
            await self._failed(error, frame)
        if self.frames.refused > FORBEARANCE:
            await self.close(TOO_MANY)

    async def _failed(self, error: Exception, frame: dict[str, Any]) -> None:
        if isinstance(error, Refusal):
            await self._refuse(error, frame)
        elif isinstance(error, OperationalError):
            log.warning("command_without_database", command=frame.get("type"), error=str(error))
            await self._refuse(Refusal("TRY_AGAIN"), frame)
        else:
            log.error("command_failed", command=frame.get("type"), exc_info=error)
            await self._refuse(Refusal("TRY_AGAIN"), frame)

    # --- Messages, of which several may be on their way

    async def _send(self, frame: dict[str, Any]) -> None:
        if len(self.unfinished) >= MAX_IN_FLIGHT:
            await asyncio.wait(self.unfinished, return_when=asyncio.FIRST_COMPLETED)
        sent = send_batcher().submit(OutgoingMessage(self.user, **SendMessage.parse(frame)))
        self.unfinished.add(sent)
        sent.add_done_callback(partial(self._answer_sent, frame))

    def _answer_sent(self, frame: dict[str, Any], sent: asyncio.Future[Message]) -> None:
        self.unfinished.discard(sent)
        if sent.exception() is None and self._answer_at_once(sent.result()):
            return
        answering = asyncio.create_task(self._answer_slowly(frame, sent))
        self.unfinished.add(answering)
        answering.add_done_callback(self.unfinished.discard)

    def _answer_at_once(self, message: Message) -> bool:
        try:
            return self.write(encode(message_accepted(message)))
        except Exception:
            log.exception("not_answered_at_once")
            return False

    async def _answer_slowly(self, frame: dict[str, Any], sent: asyncio.Future[Message]) -> None:
        try:
            await self.say(message_accepted(sent.result()))
        except Exception as error:
            await self._failed(error, frame)

    async def _finish(self) -> None:
        """What was sent before is stored and answered before what comes after it is looked at."""
        while self.unfinished:
            await asyncio.wait(self.unfinished)

    def _check_rate(self) -> None:
        wait = self.frames.take()
        if wait:
            raise Refusal("RATE_LIMITED", retry_after=int(wait) + 1)

    async def _answer(self, frame: dict[str, Any]) -> None:
        match frame["type"]:
            case "ping":
                await self.beat(frame)
            case "thread.close":
                await self.close_thread(frame)
            case "typing.start" | "typing.stop":
                await self.type(frame)
            case _:
                # Commands touch little but the table, so they need not queue for the ORM's one
                # thread; those with files give their connection back.
                do = database_sync_to_async(handle_command, thread_sensitive=False)
                for answer in await do(self.user, frame):
                    await self.say(answer)
                if frame["type"] == "thread.open":
                    if frame.get("after") and frame["thread"] in self.watching.threads:
                        metrics.SYNC_GAPS.inc()
                    await self.open_thread(frame["thread"])

    async def _refuse(self, refusal: Refusal, frame: dict[str, Any]) -> None:
        corr_id = secrets.token_hex(8)
        metrics.REFUSALS.labels(refusal.code).inc()
        if should_log(refusal):
            log.info("refused", code=refusal.code, command=frame.get("type"), corr_id=corr_id)
        error: Any = Error(type="error", **refusal.as_dict(corr_id))  # type: ignore[typeddict-item]
        for name, given in (("client_id", "client_id"), ("message_id", "message")):
            if isinstance(frame.get(given), str):
                error[name] = frame[given]
        await self.say(error)

    # --- What comes from elsewhere

    async def tell(self, message: dict[str, Any]) -> None:
        """Every event that happened, on its way to this page."""
        if not self._hears(message):
            return
        if message["event"]["type"] == "thread.changed":
            await self.look_again(message["event"]["thread"])
        await self.send(text_data=message["text"])
        _count_told(message)

    def _hears(self, message: dict[str, Any]) -> bool:
        """Whether this page wants it; what it says of other servers' doings is learnt."""
        event = message["event"]
        if message["origin"] != ORIGIN:
            apply_event(event)
        return event["type"] not in OF_OPEN_THREADS or event["thread"] in self.watching.threads

    async def live_changed(self, message: dict[str, Any]) -> None:
        """Redis went away or is back: what others say comes with the heartbeat, or at once."""
        await self.say(LiveChanged(type="live.changed", live=message["live"]))

    async def end_session(self, message: dict[str, Any]) -> None:
        if message["session"] == self.session:
            await self.end(SIGNED_OUT)

    async def recheck_session(self, message: dict[str, Any]) -> None:
        await session_checks.check([self])

    async def say(self, event: Event) -> None:
        await self.send(text_data=encode(event))

    async def _hello(self) -> Hello:
        pending, more = await sync_to_async(list_pending, thread_sensitive=False)(self.user)
        self.pending_sent_at = time.monotonic()
        metrics.UNDELIVERED_THREADS.inc(len(pending))
        return Hello(
            type="hello",
            user=self.user.id,
            connection=self.connection_id,
            server_time=keys.iso(keys.datetime_from_ms(now_ms())),
            protocol=PROTOCOL,
            pending=pending,
            more=more,
        )


def _count_told(message: dict[str, Any]) -> None:
    """Only of this process, since `at` is by its own clock."""
    if message["event"]["type"] == "message.sent" and message["origin"] == ORIGIN:
        metrics.DELIVERY_SECONDS.observe(time.monotonic() - message["at"])


def _cannot_write(text: str) -> bool:
    return False


def _known(kind: str) -> str:
    """Whatever a client makes up is one figure, not as many as it likes."""
    return kind if kind in COMMANDS or kind in CONNECTION_COMMANDS else "unknown"
